// gemm_mma.cu -- product of matrices of halves on tensor cores, a warp's products by mma
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       The pipeline of gemm_pipelined feeds tensor cores: cp.async copies tiles of the next
//            steps, ldmatrix takes fragments from shared memory to registers (lab 301), and mma
//            multiplies them. A warp computes 64 x 64 outputs, 4 x 8 fragments of sums: eight
//            ldmatrix for 32 mma. The tiles are swizzled: the 16-byte pieces of a row lie in a
//            different order in each of eight rows, so that ldmatrix meets each bank once.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes.
// Launch     block = (256, 1, 1); grid = (ceil(cols / 256), ceil(rows / 128), 1)
// Sizes      rows <= 65,535 * 128; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: STAGES * 49,152 bytes
// Constants  STAGES (steps in shared memory, at least 2) by -D (default below). Compute capability
//            8.0 and later; STAGES = 2 where a block may not have 147,456 bytes (8.6, 8.9).
// Reference  numpy: A @ X in float32, rounded

#ifndef STAGES
#define STAGES 3
#endif
#define PARTS 1     // a number is one half (mma.cuh)
#define HALF_IO 1
#include "copies.cuh"
#include "mma.cuh"

constexpr int HIGH = 128;                     // rows of a block's outputs: 2 warps below each other
constexpr int WIDE = 256;                     // and columns: 4 warps beside each other
constexpr int THREADS = 256;
constexpr int DEPTH = 64;                     // of a step along `inner`
constexpr int PIECE = 8;                      // halves of one copy: 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

// The place of a piece of a swizzled tile.
__device__ __forceinline__ int place_of(int row, int piece)
{
    return row * ROW + (piece ^ row % 8) * PIECE;
}

// Starts this thread's share of a step's copies. A's tile is [row][64 steps]. X's tile is cut into
// four blocks of 64 columns, one for each warp of a row of warps, each [step][64 columns]. a, x:
// the first cells of both tiles. high, deep, wide: how many rows, steps and columns from there on
// lie in the matrices; what lies beyond is filled with zeros, which add nothing.
__device__ __forceinline__ void start_copies(
    half* stage, const half* a, const half* x, int cols, int inner, int high, int deep, int wide)
{
    const int piece = threadIdx.x % 8;
    #pragma unroll
    for (int row = threadIdx.x / 8; row < HIGH; row += THREADS / 8) {
        const bool inside = row < high && piece * PIECE < deep;
        start_copy_past_l1(shared_address(stage + place_of(row, piece)),
                           a + (size_t)row * inner + piece * PIECE, inside ? 16 : 0);
    }
    const int column = threadIdx.x / 8 % 4 * ROW + piece * PIECE;
    half* block = stage + TILE_A + threadIdx.x / 8 % 4 * DEPTH * ROW;
    #pragma unroll
    for (int step = threadIdx.x / 32; step < DEPTH; step += THREADS / 32) {
        const bool inside = step < deep && column < wide;
        start_copy_past_l1(shared_address(block + place_of(step, piece)),
                           x + (size_t)step * cols + column, inside ? 16 : 0);
    }
}

// Reads four squares of 8 x 8 halves, of which lanes 0 to 7, 8 to 15, ... name the rows.
__device__ __forceinline__ uint4 load_squares(const half* row)
{
    uint4 squares;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(squares.x), "=r"(squares.y), "=r"(squares.z), "=r"(squares.w)
                 : "r"(shared_address(row)) : "memory");
    return squares;
}

// The same, with rows and columns of each square exchanged.
__device__ __forceinline__ uint4 load_turned_squares(const half* row)
{
    uint4 squares;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(squares.x), "=r"(squares.y), "=r"(squares.z), "=r"(squares.w)
                 : "r"(shared_address(row)) : "memory");
    return squares;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm_mma(
    half* Y, const half* __restrict__ A, const half* __restrict__ X, int rows, int cols, int inner)
{
    extern __shared__ __align__(1024) half stages[];
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    const int lane = threadIdx.x % 32;
    const int high = threadIdx.x / 32 / 4 * 64;   // first row of the warp
    const int block = threadIdx.x / 32 % 4;       // of 64 columns

    auto start_step = [=](int step) {
        const int first = step * DEPTH;
        start_copies(stages + step % STAGES * STAGE, A + (size_t)top * inner + first,
                     X + (size_t)first * cols + left, cols, inner, rows - top, inner - first,
                     cols - left);
    };

    // The first copies. One group a step, also behind the last step: then the group is empty.
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps) start_step(step);
        commit_copies();
    }

    Accumulator sum[4][8] = {};   // 16 rows by 8 columns each
    for (int step = 0; step < steps; ++step) {
        // Wait until this step's tiles are there, also the shares of the other threads. Then all
        // have finished the step before, too: the next copy may have its stage.
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        const int next = step + STAGES - 1;
        if (next < steps) start_step(next);
        commit_copies();

        // Multiply. Lanes 0 to 15 name 16 rows and the first of two pieces, the others the second.
        const half* tile_a = stages + step % STAGES * STAGE;
        const half* tile_x = tile_a + TILE_A + block * DEPTH * ROW;
        #pragma unroll
        for (int first = 0; first < DEPTH; first += 16) {
            uint4 a[4];
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = high + r * 16 + lane % 16;
                a[r] = load_squares(tile_a + place_of(row, first / PIECE + lane / 16));
            }
            #pragma unroll
            for (int s = 0; s < 8; s += 2) {
                const int row = first + lane % 16;
                const uint4 x = load_turned_squares(tile_x + place_of(row, s + lane / 16));
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    multiply(sum[r][s], a[r], x.x, x.y);
                    multiply(sum[r][s + 1], a[r], x.z, x.w);
                }
            }
        }
    }

    // Store. Lane 4 g + q holds two neighbouring outputs of row g of each fragment, and of g + 8.
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int row = top + high + r * 16 + lane / 4;
        #pragma unroll
        for (int s = 0; s < 8; ++s) {
            const int col = left + block * 64 + s * 8 + lane % 4 * 2;
            if (col < cols && row < rows) {
                store_outputs(Y + (size_t)row * cols + col,
                              make_float2(sum[r][s][0], sum[r][s][1]));
            }
            if (col < cols && row + 8 < rows) {
                store_outputs(Y + (size_t)(row + 8) * cols + col,
                              make_float2(sum[r][s][2], sum[r][s][3]));
            }
        }
    }
}
