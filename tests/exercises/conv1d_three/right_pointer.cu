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
    const float* window = tile + mine;
    for (int c = 0; c < width + 2; ++c, ++window) {
        const float value = *window;
        if (c < width) sum[0] += value * filter[c];
        if (c >= 1 && c < width + 1) sum[1] += value * filter[c - 1];
        if (c >= 2) sum[2] += value * filter[c - 2];
    }
    for (int o = 0; o < 3; ++o)
        if (start + mine + o < n) P[start + mine + o] = sum[o];
}
