// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ int cells[1024], counts[256];
    const int t = threadIdx.x, first = 1024 * blockIdx.x;
    for (int k = t; k < 1024; k += 256) cells[k] = first + k < n ? N[first + k] : -1;
    counts[t] = 0;
    __syncthreads();
    if (t == 0)
        for (int k = 0; k < 1024; ++k)
            if (cells[k] >= 0) ++counts[cells[k]];
    __syncthreads();
    P[256 * blockIdx.x + t] = counts[t];
}
