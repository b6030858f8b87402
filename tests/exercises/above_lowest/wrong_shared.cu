// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    __shared__ float s[1024];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? N[i] : INFINITY;
    __syncthreads();
    float lowest = INFINITY;
    for (int lane = 0; lane < 32; ++lane) lowest = fminf(lowest, s[t / 32 * 32 + lane]);
    if (i < n) P[i] = s[t] - lowest;
}
