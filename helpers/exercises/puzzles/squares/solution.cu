// %%kernel squares
__global__ void squares(float* P, const float* N)
{
    const int i = threadIdx.x;
    P[i] = N[i] * N[i];
}
