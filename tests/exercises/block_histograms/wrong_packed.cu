// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ unsigned packed[64];
    const int t = threadIdx.x;
    if (t < 64) packed[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 1024 + t; i < min(n, ((int)blockIdx.x + 1) * 1024); i += 256)
        atomicAdd(&packed[N[i] / 4], 1u << 8 * (N[i] % 4));
    __syncthreads();
    P[blockIdx.x * 256 + t] = packed[t / 4] >> 8 * (t % 4) & 0xff;
}
