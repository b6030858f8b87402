// conv1d_tiled_unguarded_load.cu -- WRONG ON PURPOSE: the tile is loaded before any guard
//
// Mutant of  conv1d_tiled_steps (lab 04)
// Wrong      N is read at every thread's index, also past its end in the last block and before its start in the first.
//            A published course report has this bug.
// Message    simulator: out-of-bounds, array N

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_unguarded_load(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = N[cell];
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
