// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    // Each warp counts for itself, so that fewer threads meet at one counter.
    __shared__ int counts[8][256];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int v = lane; v < 256; v += 32) counts[warp][v] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        const int i = 1024 * blockIdx.x + 256 * k + t;
        if (i < n) atomicAdd(&counts[warp][N[i]], 1);
    }
    __syncthreads();
    int sum = 0;
    for (int w = 0; w < 8; ++w) sum += counts[w][t];
    P[256 * blockIdx.x + t] = sum;
}
