// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ int counts[256];
    const int t = threadIdx.x, first = 1024 * blockIdx.x;
    counts[t] = 0;
    __syncthreads();
    for (int i = first + t; i < first + 1024 && i < n; i += 256) atomicAdd(&counts[N[i]], 1);
    __syncthreads();
    P[256 * blockIdx.x + t] = counts[t];
}
