// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ unsigned counts[128];    // two counters of 16 bits in a word: 1,024 fit into each
    const int t = threadIdx.x, first = 1024 * blockIdx.x;
    if (t < 128) counts[t] = 0;
    __syncthreads();
    for (int i = first + t; i < first + 1024 && i < n; i += 256)
        atomicAdd(&counts[N[i] / 2], N[i] % 2 ? 65536u : 1u);
    __syncthreads();
    P[256 * blockIdx.x + t] = counts[t / 2] >> 16 * (t % 2) & 65535;
}
