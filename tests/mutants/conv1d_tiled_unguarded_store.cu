// conv1d_tiled_unguarded_store.cu -- WRONG ON PURPOSE: threads past the end of P store
//
// Mutant of  conv1d_tiled_steps (lab 04)
// Wrong      the last tile is partial, but all of its threads store their sum.
// Message    simulator: out-of-bounds, array P

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_unguarded_store(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    __syncthreads();
    {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
