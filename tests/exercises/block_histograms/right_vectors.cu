// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    // Four neighbouring cells a thread, 16 bytes in one load; the last few one by one.
    __shared__ unsigned counts[256];
    for (int v = threadIdx.x; v < 256; v += 256) counts[v] = 0;
    __syncthreads();
    const int first = 1024 * blockIdx.x + 4 * threadIdx.x;
    if (first + 4 <= n) {
        const int4 four = *reinterpret_cast<const int4*>(N + first);
        atomicAdd(counts + four.x, 1u);
        atomicAdd(counts + four.y, 1u);
        atomicAdd(counts + four.z, 1u);
        atomicAdd(counts + four.w, 1u);
    } else {
        for (int i = first; i < n; ++i) atomicAdd(counts + N[i], 1u);
    }
    __syncthreads();
    for (int v = threadIdx.x; v < 256; v += 256) P[256 * blockIdx.x + v] = counts[v];
}
