// %%kernel squares
__global__ void squares(float* P, const float* N)
{
    if (threadIdx.x == 0)
        for (int i = 0; i < blockDim.x; ++i) P[i] = N[i] * N[i];
}
