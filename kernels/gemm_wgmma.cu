// gemm_wgmma.cu -- product of matrices of halves by the products of warpgroups
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       The pipeline of gemm_pipelined feeds tensor cores. A warpgroup is four warps. One of
//            them, the producer, only copies tiles to shared memory. Two others, the consumers,
//            compute 64 x 256 outputs each: they start products of 64 x 16 by 16 x 256, which read
//            both tiles from shared memory themselves. Producer and consumers wait for each other
//            at barriers in shared memory (mbarrier, as in copy_bulk), two for each stage: "full"
//            and "empty". The tiles are swizzled: the 16-byte pieces of a row lie in another order
//            in each of eight rows. Barriers, swizzled tiles and products are in warpgroup.cuh.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes.
// Launch     block = (384, 1, 1); grid = (ceil(cols / 256), ceil(rows / 128), 1)
// Sizes      rows <= 65,535 * 128; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 2048 + 4 * 49,152 bytes
// Constants  none. Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#include "warpgroup.cuh"
DEFINE_START_PRODUCT(256, 1)

constexpr int HIGH = 128;                     // rows of a block's outputs: 64 of each consumer
constexpr int WIDE = 256;                     // and columns
constexpr int DEPTH = 64;                     // of a step along `inner`: 128 bytes of a row of A
constexpr int STAGES = 4;                     // steps in shared memory
constexpr int PIECE = 8;                      // halves of one copy: 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int NEXT_EIGHT = 8 * ROW / PIECE;   // pieces from eight rows to the next eight
constexpr int BLOCK = DEPTH * ROW / PIECE;    // pieces of 64 columns of X
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

// Starts this thread's share of a step's copies, by the producer's threads, of which this is number
// t. A's tile is [row][64 steps]. X's tile is cut into four blocks of 64 columns, each
// [step][64 columns]. a, x: the first cells of both tiles. high, deep, wide: how many rows, steps
// and columns from there on lie in the matrices.
__device__ __forceinline__ void start_copies(
    half* stage, const half* a, const half* x, int cols, int inner, int high, int deep, int wide,
    int t)
{
    const int piece = t % 8;
    #pragma unroll
    for (int turn = 0; turn < HIGH * 8 / GROUP; ++turn) {
        const int row = t / 8 + turn * (GROUP / 8);
        const half* from = a + (size_t)row * inner + piece * PIECE;
        start_swizzled_copy(stage, row, piece, from, row < high && piece * PIECE < deep);
    }
    const int column = t / 8 % 4 * ROW + piece * PIECE;
    half* block = stage + TILE_A + t / 8 % 4 * DEPTH * ROW;
    #pragma unroll
    for (int turn = 0; turn < DEPTH * 32 / GROUP; ++turn) {
        const int step = t / 32 + turn * (GROUP / 32);
        const half* from = x + (size_t)step * cols + column;
        start_swizzled_copy(block, step, piece, from, step < deep && column < wide);
    }
}

extern "C" __global__ void __launch_bounds__(3 * GROUP, 1) gemm_wgmma(
    half* Y, const half* __restrict__ A, const half* __restrict__ X, int rows, int cols, int inner)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* full = reinterpret_cast<Barrier*>(memory);
    Barrier* empty = full + STAGES;
    // Swizzling goes by the address: a tile begins at a multiple of 1,024 bytes.
    const unsigned gap = -shared_address(memory) % 1024;
    half* stages = reinterpret_cast<half*>(memory + gap + 1024);
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    // The same for all lanes of a warp, and the compiler knows it.
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);
    const int t = threadIdx.x % GROUP;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, GROUP);    // each thread of the producer
            make_barrier(empty + stage, 2);       // a thread of each consumer
        }
    }
    __syncthreads();   // the barriers are there

    if (group == 2) {
        // Produce. A stage is filled again when both consumers are done with it. Step by step it is
        // filled for the 0th, 1st, 2nd ... time: step / STAGES. With each time both of its barriers
        // go on by a phase, so the phases of the u-th time have the parity u & 1.
        for (int step = 0; step < steps; ++step) {
            const int stage = step % STAGES;
            const int first = step * DEPTH;
            if (step >= STAGES) wait_for(empty + stage, step / STAGES - 1 & 1);
            start_copies(stages + stage * STAGE, A + (size_t)top * inner + first,
                         X + (size_t)first * cols + left, cols, inner, rows - top, inner - first,
                         cols - left, t);
            arrive_after_copies(full + stage);
        }
        commit_copies();
        wait_for_copies();   // a warp must not end before its copies
        return;
    }

    // Consume. The products of a step run while this warpgroup waits for the next step's tiles.
    float sum[128] = {};
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES;
        wait_for(full + stage, step / STAGES & 1);
        asm volatile("fence.proxy.async;" ::: "memory");   // tensor cores see what was copied
        const half* tiles = stages + stage * STAGE;
        const Descriptor a = swizzled(tiles + group * 64 * ROW, BLOCK, NEXT_EIGHT);
        const Descriptor x = swizzled(tiles + TILE_A, BLOCK, NEXT_EIGHT);
        begin_products();
        #pragma unroll
        for (int i = 0; i < DEPTH; i += 16) {
            start_product(sum, a + i / PIECE, x + i * ROW / PIECE, 1);
        }
        end_products();
        wait_for_products<1>();   // those of step - 1 are made: its stage may be filled again
        if (step > 0 && t == 0) arrive(empty + (step - 1) % STAGES);
    }
    wait_for_products<0>();

    // Store. Lane 4 g + q of a warp holds, for every eight columns, two neighbouring outputs of row
    // g and two of row g + 8.
    const int lane = t % 32;
    const int row = top + group * 64 + t / 32 * 16 + lane / 4;
    #pragma unroll
    for (int i = 0; i < 128; i += 4) {
        const int col = left + 2 * i + lane % 4 * 2;
        if (row < rows && col < cols) {
            *reinterpret_cast<half2*>(Y + (size_t)row * cols + col) =
                __floats2half2_rn(sum[i], sum[i + 1]);
        }
        if (row + 8 < rows && col < cols) {
            *reinterpret_cast<half2*>(Y + (size_t)(row + 8) * cols + col) =
                __floats2half2_rn(sum[i + 2], sum[i + 3]);
        }
    }
}
