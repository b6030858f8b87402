// conv1d_tiled_missing_halo.cu -- WRONG ON PURPOSE: the halo cells are zeros
//
// Mutant of  conv1d_tiled_steps (lab 04)
// Wrong      only the interior of the tile is loaded; both halos are set to 0 in every block, as if each tile were the
//            whole of N.
// Message    check: tile borders

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_missing_halo(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = s >= RADIUS && s < TILE_WIDTH + RADIUS && cell < n ? N[cell] : 0.0f;
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
