// copy_async.cu -- 1D convolution, the next tile copied in the background by cp.async
//
// Computes   P[i] = sum_j N[i + j] * filter[j], for the outputs that need no cell outside N
//            (cross-correlation)
// Idea       Two buffers. While the block computes on one tile, the next tile arrives in the other
//            buffer. cp.async starts a copy of 16 bytes from global to shared memory, and the
//            thread goes on at once. No register holds the cells meanwhile.
// Arrays     N: float32, shape (n,), aligned to 16 bytes. P: float32, (n - FILTER_WIDTH + 1,).
//            filter: (FILTER_WIDTH,). P must not alias N.
// Launch     block = (THREADS, 1, 1); grid = (blocks, 1), any number: a block takes every
//            blocks-th tile
// Sizes      FILTER_WIDTH <= n <= 1,000,000,000, n a multiple of 4. Compute capability 8.0 and
//            later.
// Memory     shared: 32 * ceil((TILE_WIDTH + FILTER_WIDTH - 1) / 4) bytes, static: whole vectors.
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

// Starts this thread's share of the copy of a tile. What a thread starts before a commit is a
// group; a thread waits for groups, in their order.
__device__ void start_copy(float4* tile, const float* N, int start, int n)
{
    const float4* source = reinterpret_cast<const float4*>(N + start);
    const int vectors = min(VECTORS, (n - start) / 4);   // the last tile may end before N ends
    for (int v = threadIdx.x; v < vectors; v += THREADS) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(tile + v);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(to), "l"(source + v) : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) copy_async(float* P, const float* N, int n)
{
    __shared__ float4 tiles[2][VECTORS];
    const int outputs = n - FILTER_WIDTH + 1;
    const int stride = gridDim.x * TILE_WIDTH;   // from one tile of this block to its next one
    int current = 0;                             // the buffer of the tile in work

    int start = blockIdx.x * TILE_WIDTH;
    if (start < outputs) {
        start_copy(tiles[0], N, start, n);
    }
    asm volatile("cp.async.commit_group;");
    for (; start < outputs; start += stride, current ^= 1) {
        // Start the copy of the next tile. Behind the last tile the group is empty.
        if (start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n);
        }
        asm volatile("cp.async.commit_group;");

        // Wait for this tile: all groups of this thread but the newest one have arrived.
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();   // and those of the other threads

        // Compute and store.
        const float* cells = reinterpret_cast<const float*>(tiles[current]);
        const int end = min(TILE_WIDTH, outputs - start);
        for (int o = threadIdx.x; o < end; o += THREADS) {
            float sum = 0.0f;
            for (int j = 0; j < FILTER_WIDTH; ++j) {
                sum += cells[o + j] * filter[j];
            }
            P[start + o] = sum;
        }
        __syncthreads();   // the next copy goes into this buffer: nobody may still read it
    }
}
