// copy_plain.cu -- 1D convolution, tile after tile: copy, wait, compute
//
// Computes   P[i] = sum_j N[i + j] * filter[j], for the outputs that need no cell outside N
//            (cross-correlation)
// Idea       A block walks over tiles. It copies a tile to shared memory and then computes on it,
//            one after the other. While it copies, its arithmetic units wait, and while it
//            computes, it copies nothing. copy_async and copy_bulk do both at once.
// Arrays     N: float32, shape (n,), aligned to 16 bytes. P: float32, (n - FILTER_WIDTH + 1,).
//            filter: (FILTER_WIDTH,). P must not alias N.
// Launch     block = (THREADS, 1, 1); grid = (blocks, 1), any number: a block takes every
//            blocks-th tile
// Sizes      FILTER_WIDTH <= n <= 1,000,000,000, n a multiple of 4.
// Memory     shared: 16 * ceil((TILE_WIDTH + FILTER_WIDTH - 1) / 4) bytes, static: whole vectors.
//            constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH (outputs of a tile, a multiple of 4), THREADS, FILTER_WIDTH by -D.
// Reference  helpers.problems.copies.reference

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 15
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 2048
#endif
#ifndef THREADS
#define THREADS 256
#endif
// Cells of a tile with its halo, in whole vectors of four.
#define VECTORS ((TILE_WIDTH + FILTER_WIDTH - 1 + 3) / 4)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void __launch_bounds__(THREADS) copy_plain(float* P, const float* N, int n)
{
    __shared__ float4 tile[VECTORS];
    const float* cells = reinterpret_cast<const float*>(tile);
    const int t = threadIdx.x;
    const int outputs = n - FILTER_WIDTH + 1;

    for (int start = blockIdx.x * TILE_WIDTH; start < outputs; start += gridDim.x * TILE_WIDTH) {
        // Copy, each cell through a register of a thread. The last tile may end before N ends.
        const float4* source = reinterpret_cast<const float4*>(N + start);
        const int vectors = min(VECTORS, (n - start) / 4);
        for (int v = t; v < vectors; v += THREADS) {
            tile[v] = source[v];
        }
        __syncthreads();   // outputs read cells that other threads copied

        // Compute and store.
        const int end = min(TILE_WIDTH, outputs - start);
        for (int o = t; o < end; o += THREADS) {
            float sum = 0.0f;
            for (int j = 0; j < FILTER_WIDTH; ++j) {
                sum += cells[o + j] * filter[j];
            }
            P[start + o] = sum;
        }
        __syncthreads();   // nobody may overwrite the tile while others still read it
    }
}
