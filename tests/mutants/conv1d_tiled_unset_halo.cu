// conv1d_tiled_unset_halo.cu -- WRONG ON PURPOSE: nobody writes the halo cells
//
// Mutant of  conv1d_tiled_steps (lab 04)
// Wrong      only the interior of the tile is loaded; the sum reads halo cells that hold whatever was there.
// Message    simulator: uninitialised, array tile

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_unset_halo(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    tile[threadIdx.x + RADIUS] = i < n ? N[i] : 0.0f;
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
