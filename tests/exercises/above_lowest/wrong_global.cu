// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float lowest = INFINITY;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32 && k < n; ++k) lowest = fminf(lowest, N[k]);
    P[i] = N[i] - lowest;
}
