// %%kernel squares
__global__ void squares(float* P, const float* N)
{
    //> One block, and as many threads as numbers: P[i] = N[i] * N[i].
    const int i = threadIdx.x;
    P[i] = N[i] * N[i];
    //<
}
