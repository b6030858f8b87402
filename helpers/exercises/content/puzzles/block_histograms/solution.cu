// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    //> Block b counts how often each of the values 0 to 255 occurs among its 1,024 cells,
    //> N[1024 * b] to N[1024 * b + 1023] (fewer in the last block). The count of value v goes
    //> to P[256 * b + v]. Blocks of 256 threads. Count in shared memory.
    __shared__ int counts[256];
    const int t = threadIdx.x, first = 1024 * blockIdx.x;
    counts[t] = 0;
    __syncthreads();
    for (int i = first + t; i < first + 1024 && i < n; i += 256) atomicAdd(&counts[N[i]], 1);
    __syncthreads();
    P[256 * blockIdx.x + t] = counts[t];
    //<
}
