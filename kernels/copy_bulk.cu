// copy_bulk.cu -- 1D convolution, the next tile copied in the background by one bulk copy
//
// Computes   P[i] = sum_j N[i + j] * filter[j], for the outputs that need no cell outside N
//            (cross-correlation)
// Idea       Two buffers, as in copy_async. But one thread starts the copy of a whole tile by one
//            instruction, and the copy engine of the multiprocessor does the rest. The copy tells
//            an mbarrier in shared memory how many bytes have arrived, and all threads wait there.
// Arrays     N: float32, shape (n,), aligned to 16 bytes. P: float32, (n - FILTER_WIDTH + 1,).
//            filter: (FILTER_WIDTH,). P must not alias N.
// Launch     block = (THREADS, 1, 1); grid = (blocks, 1), any number: a block takes every
//            blocks-th tile
// Sizes      FILTER_WIDTH <= n <= 1,000,000,000, n a multiple of 4. Compute capability 9.0 and
//            later.
// Memory     shared: 32 * ceil((TILE_WIDTH + FILTER_WIDTH - 1) / 4) + 16 bytes, static.
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

typedef unsigned long long Barrier;   // an mbarrier takes 8 bytes

__constant__ float filter[FILTER_WIDTH];

__device__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Starts the copy of a tile. One thread calls it. The phase of `arrived` ends when this thread has
// arrived, which it does here, and all the bytes that it announces have arrived, too.
__device__ void start_copy(float4* tile, const float* N, int start, int n, Barrier* arrived)
{
    const int bytes = 16 * min(VECTORS, (n - start) / 4);   // the last tile may end before N ends
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(arrived)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(shared_address(tile)), "l"(N + start), "r"(bytes),
                    "r"(shared_address(arrived)) : "memory");
}

// Waits until the phase of that parity is over: phases count 0, 1, 0, 1 and so on.
__device__ void wait(Barrier* arrived, int parity)
{
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
                 "@!over bra again;\n"
                 "}"
                 :: "r"(shared_address(arrived)), "r"(parity) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) copy_bulk(float* P, const float* N, int n)
{
    __shared__ float4 tiles[2][VECTORS];
    __shared__ Barrier arrived[2];               // one for each buffer
    const int outputs = n - FILTER_WIDTH + 1;
    const int stride = gridDim.x * TILE_WIDTH;   // from one tile of this block to its next one
    int start = blockIdx.x * TILE_WIDTH;

    // One arrival ends a phase: that of the thread that starts the copy. The fence shows the
    // mbarriers to the copy engine.
    if (threadIdx.x == 0) {
        for (int buffer = 0; buffer < 2; ++buffer) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         :: "r"(shared_address(&arrived[buffer])) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (start < outputs) {
            start_copy(tiles[0], N, start, n, &arrived[0]);
        }
    }
    __syncthreads();   // nobody may wait at an mbarrier that is not there yet

    for (int turn = 0; start < outputs; start += stride, ++turn) {
        const int current = turn % 2;   // the buffer of the tile in work

        // Start the copy of the next tile.
        if (threadIdx.x == 0 && start + stride < outputs) {
            const int next = current ^ 1;
            start_copy(tiles[next], N, start + stride, n, &arrived[next]);
        }

        // Wait for this tile. A buffer is used every second turn, and its mbarrier's parity
        // changes each time.
        wait(&arrived[current], turn / 2 % 2);

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
