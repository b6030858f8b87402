// gemm_pipelined.cu -- product of matrices, the next tiles copied while this one is multiplied
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       gemm_vector loads, waits, computes, waits. Here the copies of the next STAGES - 1
//            steps are under way (cp.async, see copies.cuh) while a step is computed, and one
//            barrier a step is enough. Both tiles lie as in global memory, so that a copy moves 16
//            bytes: of A, a thread reads four steps of a row at once. And the patch is larger, 16 x
//            8: 24 cells for 128 multiply-adds.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols). No two
//            may alias.
// Launch     block = (256, 1, 1); grid = (ceil(cols / 128), ceil(rows / (16 * PATCH)), 1)
// Sizes      any cols, inner >= 1; rows <= 65,535 * 16 * PATCH; each matrix < 2^31 cells. COPY = 4
//            only where inner and cols are multiples of 4, and A, X and Y are aligned to 16 bytes.
// Memory     shared, dynamic: STAGES * (16 * PATCH * (DEPTH + 4) + DEPTH * 128) * 4 bytes
// Constants  COPY (cells of one copy, 1 or 4), PATCH (rows of a thread's outputs: 8 leaves room for
//            two blocks on a multiprocessor, 16 for one), DEPTH (of a step along `inner`: 8, 16 or
//            32), STAGES (steps in shared memory, at least 2) by -D (defaults below)
// Reference  numpy: A @ X

#ifndef COPY
#define COPY 1
#endif
#ifndef PATCH
#define PATCH 16
#endif
#ifndef DEPTH
#define DEPTH 32
#endif
#ifndef STAGES
#define STAGES 2
#endif
#include "copies.cuh"

constexpr int HIGH = 16 * PATCH;    // rows of a block's outputs
constexpr int WIDE = 128;           // and columns
constexpr int THREADS = 256;
constexpr int PITCH = DEPTH + 4;    // of a row of A's tile: the four rows that a warp reads at a
                                    // time then lie in different banks
constexpr int TILE_A = HIGH * PITCH;
constexpr int STAGE = TILE_A + DEPTH * WIDE;   // cells of a stage: A's tile, then X's

// Starts this thread's share of the copy of ROWS x COLUMNS cells of a matrix whose rows have
// `pitch` cells. from: the first of them. Rows from `high` on and columns from `wide` on lie beyond
// the matrix: they are filled with zeros, which add nothing.
template <int ROWS, int COLUMNS, int TO_PITCH>
__device__ __forceinline__ void start_tile(
    float* to, const float* from, int pitch, int high, int wide)
{
    constexpr int ACROSS = COLUMNS / COPY;   // copies in a row
    constexpr int STEP = THREADS / ACROSS;   // rows that the block copies at a time
    const int first = threadIdx.x / ACROSS;
    const int column = threadIdx.x % ACROSS * COPY;
    const unsigned place = shared_address(to + first * TO_PITCH + column);
    from += (size_t)first * pitch + column;
    #pragma unroll
    for (int row = 0; row < ROWS; row += STEP) {
        const bool inside = first + row < high && column < wide;
        start_copy<4 * COPY>(place + row * TO_PITCH * 4, from, inside ? 4 * COPY : 0);
        from += (size_t)STEP * pitch;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PATCH > 8 ? 1 : 2) gemm_pipelined(
    float* Y, const float* __restrict__ A, const float* __restrict__ X, int rows, int cols,
    int inner)
{
    extern __shared__ __align__(16) float stages[];
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    // The warps share the tile as 4 x 2, the lanes of a warp as 4 x 8. A thread has every 16th row
    // from ty on, and four columns from tx on in either half of the tile.
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int ty = warp / 2 * 4 + lane / 8;
    const int tx = (warp % 2 * 8 + lane % 8) * 4;

    // Starts the copies of both tiles of a step, to the step's stage.
    auto start_copies = [=](int step) {
        float* stage = stages + step % STAGES * STAGE;
        const int first = step * DEPTH;
        const float* a = A + (size_t)top * inner + first;
        const float* x = X + (size_t)first * cols + left;
        start_tile<HIGH, DEPTH, PITCH>(stage, a, inner, rows - top, inner - first);
        start_tile<DEPTH, WIDE, WIDE>(stage + TILE_A, x, cols, inner - first, cols - left);
    };

    // The first copies. One group a step, also behind the last step: then the group is empty.
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps) start_copies(step);
        commit_copies();
    }

    float sum[PATCH][8] = {};
    for (int step = 0; step < steps; ++step) {
        // Wait until this step's tiles are there, also the shares of the other threads. Then all
        // have finished the step before, too: the next copy may have its stage.
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        const int next = step + STAGES - 1;
        if (next < steps) start_copies(next);
        commit_copies();

        // Compute. Four steps along `inner`: PATCH reads of A, 8 of X, PATCH * 32 multiply-adds.
        const float* tile_a = stages + step % STAGES * STAGE;
        const float* tile_x = tile_a + TILE_A;
        #pragma unroll
        for (int first = 0; first < DEPTH; first += 4) {
            __align__(16) float a[PATCH][4];
            #pragma unroll
            for (int r = 0; r < PATCH; ++r) {
                read_four(a[r], &tile_a[(ty + r * 16) * PITCH + first]);
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                __align__(16) float x[8];
                const float* row = &tile_x[(first + i) * WIDE + tx];
                read_four(x, row);
                read_four(x + 4, row + WIDE / 2);
                #pragma unroll
                for (int r = 0; r < PATCH; ++r) {
                    #pragma unroll
                    for (int s = 0; s < 8; ++s) {
                        sum[r][s] += a[r][i] * x[s];
                    }
                }
            }
        }
    }

    // Store. Columns from 4 on are those of the tile's other half.
    #pragma unroll
    for (int r = 0; r < PATCH; ++r) {
        const int row = top + ty + r * 16;
        #pragma unroll
        for (int s = 0; s < 8; ++s) {
            const int col = left + tx + s % 4 + s / 4 * (WIDE / 2);
            if (row < rows && col < cols) {
                Y[(size_t)row * cols + col] = sum[r][s];
            }
        }
    }
}
