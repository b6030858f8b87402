// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    __shared__ int cells[1024];
    const int t = threadIdx.x, first = 1024 * blockIdx.x;
    for (int k = t; k < 1024; k += 256) cells[k] = first + k < n ? N[first + k] : -1;
    __syncthreads();
    int count = 0;
    for (int k = 0; k < 1024; ++k) count += cells[k] == t;    // each thread looks at all of them
    P[256 * blockIdx.x + t] = count;
}
