// %%kernel conv1d_three -DMOST=31 -DTHREADS=128
__constant__ float filter[MOST];
__global__ void conv1d_three(float* P, const float* N, int n, int width)
{
    __shared__ float tile[3 * THREADS + MOST - 1];
    const int start = blockIdx.x * 3 * THREADS, mine = 3 * threadIdx.x;
    for (int s = threadIdx.x; s < 3 * THREADS + width - 1; s += THREADS) {
        const int cell = start - width / 2 + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    __syncthreads();
    float sum[3] = {};
    // Go over the cells of this thread's window, tile[mine] and the ones after it. Read each
    // once, and add it, times its weight, to every sum[o] that needs it.
    //>
    for (int c = 0; c < width + 2; ++c) {
        const float value = tile[mine + c];
        for (int o = 0; o < 3; ++o) if (c >= o && c - o < width) sum[o] += value * filter[c - o];
    }
    //<
    for (int o = 0; o < 3; ++o)
        if (start + mine + o < n) P[start + mine + o] = sum[o];
}
