// conv1d_tiled_early_return.cu -- WRONG ON PURPOSE: threads without an output leave before the barrier
//
// Mutant of  conv1d_tiled_steps (lab 04)
// Wrong      threads past the end of P return above the barrier, though the tile still needs the cells that they would
//            have loaded.
// Message    simulator: barrier

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_early_return(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (i >= n) {
        return;
    }
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
