// %%kernel conv1d_tiled_steps -DFILTER_WIDTH=31 -DTILE_WIDTH=256
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_steps(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;     // tile[0] holds this cell of N
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) tile[s] = 0.0f;
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        if (first + s < 0) continue;
        if (first + s >= n) break;
        tile[s] = N[first + s];
    }
    __syncthreads();
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;    // this thread's output
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
