// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    // Thread v looks at all cells for its value.
    const int v = threadIdx.x;
    int count = 0;
    for (int i = 1024 * blockIdx.x; i < 1024 * (blockIdx.x + 1) && i < n; ++i) count += N[i] == v;
    P[256 * blockIdx.x + v] = count;
}
