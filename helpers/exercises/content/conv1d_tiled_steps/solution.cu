// %%kernel conv1d_tiled_steps -DFILTER_WIDTH=31 -DTILE_WIDTH=256
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_steps(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;     // tile[0] holds this cell of N

    //> 1. Load TILE_WIDTH + 2 * RADIUS cells: tile[s] holds cell first + s, or 0 for a ghost.
    //>    Thread t loads tile[t], and tile[t + TILE_WIDTH] if the tile has that cell.
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    //<

    //> 2. The outputs read cells that other threads load. What is needed here?
    __syncthreads();
    //<

    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;    // this thread's output
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            //> 3. Replace 0.0f with the cell of the tile. Output i needs cell i - RADIUS + j.
            //= sum += 0.0f * filter[j];
            sum += tile[threadIdx.x + j] * filter[j];
            //<
        }
        P[i] = sum;
    }
}
