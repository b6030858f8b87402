// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ int counts[256];
    const int t = threadIdx.x, first = 1024 * blockIdx.x + 4 * t;
    counts[t] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k)
        if (first + k < n) atomicAdd(&counts[((const volatile int*)N)[first + k]], 1);
    __syncthreads();
    P[256 * blockIdx.x + t] = counts[t];
}
