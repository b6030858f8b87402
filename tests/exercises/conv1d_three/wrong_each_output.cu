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
    for (int o = 0; o < 3; ++o)
        for (int j = 0; j < width; ++j) sum[o] += tile[mine + o + j] * filter[j];
    for (int o = 0; o < 3; ++o)
        if (start + mine + o < n) P[start + mine + o] = sum[o];
}
