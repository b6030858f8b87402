// %%kernel conv1d_tiled_steps -DFILTER_WIDTH=31 -DTILE_WIDTH=256
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_steps(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;     // tile[0] holds this cell of N

    const int cell = first + threadIdx.x;
    tile[threadIdx.x] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    if (threadIdx.x < 2 * RADIUS) {
        const int more = cell + TILE_WIDTH;
        tile[threadIdx.x + TILE_WIDTH] = more >= 0 && more < n ? N[more] : 0.0f;
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
