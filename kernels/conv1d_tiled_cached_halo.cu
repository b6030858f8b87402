// conv1d_tiled_cached_halo.cu -- 1D convolution, tile in shared memory, halo from the cache
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       One cell per thread is staged, with no second loading step. Halo cells belong to a
//            neighbouring block that reads them too, so they are probably in the cache already:
//            they are read from global memory. Price: the sum must ask for every tap where the cell
//            lives.
// Arrays     N, P: float32, shape (n,); filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (TILE_WIDTH, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last tile may be partial.
//            FILTER_WIDTH odd, <= 16,383.
// Memory     shared: TILE_WIDTH * 4 bytes, static. constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH, FILTER_WIDTH by -D (defaults below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef TILE_WIDTH
#define TILE_WIDTH 256
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_cached_halo(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH];
    const int start = blockIdx.x * TILE_WIDTH;
    const int i = start + threadIdx.x;

    // Load: the interior only. Past the end of N the tile holds zeros, which are the ghost cells of
    // the last block.
    tile[threadIdx.x] = i < n ? N[i] : 0.0f;

    // Outputs read cells that other threads loaded.
    __syncthreads();

    // Compute and store.
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            const int place = cell - start;                // [-R, TILE_WIDTH + R)
            if (place >= 0 && place < TILE_WIDTH) {
                sum += tile[place] * filter[j];
            } else if (cell >= 0 && cell < n) {            // a halo cell, from the cache
                sum += N[cell] * filter[j];
            }
        }
        P[i] = sum;
    }
}
