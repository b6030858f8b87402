// %%kernel squares
__device__ float square(float x)
{
    return x * x;
}
__global__ void squares(float* __restrict__ P, const float* __restrict__ N)
{
    P[threadIdx.x] = square(N[threadIdx.x]);
}
