// gemm_warp.cu -- product of matrices, a warp's tile, and fragments in two sets of registers
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       gemm_pipelined reads four steps of a row of A at once. That takes 64 registers, so
//            nothing can be read ahead: at every fourth step the products wait for shared memory.
//            Here A's tile is turned on its way to shared memory (copies of 4 bytes), and a thread
//            reads one step of its patch: 16 cells of A, 8 of X. It keeps two such sets, and reads
//            one while it multiplies with the other. A warp's lanes share 4 x 8 patches, a block's
//            warps share its tile; the host chooses the sizes by those of the matrices.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols). No two
//            may alias.
// Launch     block = (32 * WARPS_HIGH * WARPS_WIDE, 1, 1); grid = (ceil(cols / WIDE), ceil(rows /
//            HIGH), 1) with HIGH = 4 * PATCH_HIGH * WARPS_HIGH, WIDE = 8 * PATCH_WIDE * WARPS_WIDE
// Sizes      any cols, inner >= 1; rows <= 65,535 * HIGH; each matrix < 2^31 cells. COPY = 4 only
//            where cols is a multiple of 4, and X and Y are aligned to 16 bytes.
// Memory     shared, dynamic: STAGES * DEPTH * (HIGH + 4 + WIDE) * 4 bytes
// Constants  COPY (cells of X in one copy, 1 or 4), PATCH_HIGH, PATCH_WIDE (rows and columns of a
//            thread's outputs, multiples of 4), WARPS_HIGH, WARPS_WIDE (of a block; PATCH_HIGH is
//            a multiple of WARPS_WIDE), DEPTH (steps of 8 along `inner`), STAGES (in memory, >= 2),
//            BLOCKS (on a multiprocessor), SNAKE_DOWN (order of products) by -D
// Reference  numpy: A @ X

#ifndef COPY
#define COPY 1
#endif
#ifndef PATCH_HIGH
#define PATCH_HIGH 16
#endif
#ifndef PATCH_WIDE
#define PATCH_WIDE 8
#endif
#ifndef WARPS_HIGH
#define WARPS_HIGH 4
#endif
#ifndef WARPS_WIDE
#define WARPS_WIDE 2
#endif
#ifndef DEPTH
#define DEPTH 16
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef SNAKE_DOWN
#define SNAKE_DOWN 1
#endif
#include "copies.cuh"

constexpr int HIGH = 4 * PATCH_HIGH * WARPS_HIGH;   // rows of a block's outputs
constexpr int WIDE = 8 * PATCH_WIDE * WARPS_WIDE;   // and columns
constexpr int THREADS = 32 * WARPS_HIGH * WARPS_WIDE;
constexpr int PITCH = HIGH + 4;   // of a step of A's tile: 4 rows and 8 steps then lie in 32 banks
constexpr int TILE_A = DEPTH * PITCH;
constexpr int STAGE = TILE_A + DEPTH * WIDE;   // cells of a stage: A's tile, then X's
constexpr int EIGHT = 8;   // steps that are copied and computed by one turn of the innermost loop

// Starts this thread's share of the copy of EIGHT steps of A's tile: [step][row], of cells that lie
// [row][step] in memory. Eight lanes copy neighbouring steps: 32 bytes, a sector. last: the tile's
// last row that lies in the matrix; it is copied again in the place of rows beyond, whose sums
// nobody stores. deep: the steps from `from` on that lie in the matrix; cells beyond become zeros,
// which add nothing. WHOLE: all eight do, so that nobody needs to ask.
template <bool WHOLE>
__device__ __forceinline__ void start_a(float* to, const float* from, int inner, int last, int deep)
{
    const int step = threadIdx.x % EIGHT;
    const int row = threadIdx.x / EIGHT;
    const unsigned place = shared_address(to + step * PITCH + row);
    #pragma unroll
    for (int r = 0; r < HIGH; r += THREADS / EIGHT) {
        const float* cell = from + step + (long long)min(row + r, last) * inner;
        start_copy<4>(place + r * 4, cell, WHOLE || step < deep ? 4 : 0);
    }
}

// The same for X's tile: [step][column], as in memory. last: the last copy's column in the matrix.
template <bool WHOLE>
__device__ __forceinline__ void start_x(float* to, const float* from, int cols, int last, int deep)
{
    constexpr int ACROSS = WIDE / COPY;   // copies in a row
    const int step = threadIdx.x / ACROSS;
    const int column = threadIdx.x % ACROSS * COPY;
    const unsigned place = shared_address(to + step * WIDE + column);
    const float* cell = from + min(column, last);
    #pragma unroll
    for (int i = 0; i < EIGHT; i += THREADS / ACROSS) {
        start_copy<4 * COPY>(place + i * WIDE * 4, cell + (long long)(step + i) * cols,
                             WHOLE || step + i < deep ? 4 * COPY : 0);
    }
}

// The cells that a thread needs for one step.
struct Cells {
    __align__(16) float a[PATCH_HIGH];
    __align__(16) float x[PATCH_WIDE];

    // a, x: the thread's first cells of the step. Its fours of rows lie 16 apart, those of columns
    // 32: the lanes of a warp read neighbouring fours.
    __device__ __forceinline__ void read(const float* from_a, const float* from_x)
    {
        #pragma unroll
        for (int r = 0; r < PATCH_HIGH; r += 4) {
            read_four(a + r, from_a + 4 * r);
        }
        #pragma unroll
        for (int s = 0; s < PATCH_WIDE; s += 4) {
            read_four(x + s, from_x + 8 * s);
        }
    }
};

// sum += a x, the patch, in a snake: a product has a cell of A or X from the one before it, which
// then need not be read from the registers again.
__device__ __forceinline__ void multiply(float (&sum)[PATCH_HIGH][PATCH_WIDE], const Cells& now)
{
    constexpr int ACROSS = SNAKE_DOWN ? PATCH_HIGH : PATCH_WIDE;
    #pragma unroll
    for (int i = 0; i < PATCH_HIGH * PATCH_WIDE; ++i) {
        const int line = i / ACROSS;
        const int along = line % 2 ? ACROSS - 1 - i % ACROSS : i % ACROSS;
        const int r = SNAKE_DOWN ? along : line;
        const int s = SNAKE_DOWN ? line : along;
        sum[r][s] += now.a[r] * now.x[s];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm_warp(
    float* Y, const float* __restrict__ A, const float* __restrict__ X, int rows, int cols,
    int inner)
{
    extern __shared__ __align__(16) float stages[];
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int ty = warp / WARPS_WIDE * (4 * PATCH_HIGH) + lane / 8 * 4;   // first row of the thread
    const int tx = warp % WARPS_WIDE * (8 * PATCH_WIDE) + lane % 8 * 4;   // and column

    // Starts the copies of eight steps of a stage, from `first` on.
    auto start_eight = [=](int step, int first) {
        float* stage = stages + step % STAGES * STAGE;
        float* tile_a = stage + first * PITCH;
        float* tile_x = stage + TILE_A + first * WIDE;
        first += step * DEPTH;
        const float* a = A + (size_t)top * inner + first;
        const float* x = X + (size_t)first * cols + left;
        const int last_row = rows - top - 1;
        const int last_column = cols - left - COPY;
        if (first + EIGHT <= inner) {
            start_a<true>(tile_a, a, inner, last_row, EIGHT);
            start_x<true>(tile_x, x, cols, last_column, EIGHT);
        } else {
            start_a<false>(tile_a, a, inner, last_row, inner - first);
            start_x<false>(tile_x, x, cols, last_column, inner - first);
        }
    };

    // The first copies. One group a step, also behind the last step: then the group is empty.
    #pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step) {
        #pragma unroll 1
        for (int first = 0; first < DEPTH && step < steps; first += EIGHT) {
            start_eight(step, first);
        }
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();   // the first tiles are there, also the shares of the other threads

    float sum[PATCH_HIGH][PATCH_WIDE] = {};
    Cells cells[2];
    const float* a = stages + ty;
    const float* x = stages + TILE_A + tx;
    cells[0].read(a, x);
    for (int step = 0; step < steps; ++step) {
        const int next = step + STAGES - 1;
        // Not unrolled: the instructions of all steps would not fit into the cache for them.
        #pragma unroll 1
        for (int first = 0; first < DEPTH; first += EIGHT) {
            if (next < steps) start_eight(next, first);
            #pragma unroll
            for (int i = 0; i < EIGHT; ++i) {
                // Read ahead. Before the first cells of the next tiles, wait until these are there;
                // then all have read this step's last cells: the next copies may take its stage.
                if (i + 1 == EIGHT && first + EIGHT == DEPTH) {
                    commit_copies();
                    wait_for_copies<STAGES - 2>();
                    __syncthreads();
                    const int following = min(step + 1, steps - 1);   // behind the last: unused
                    const float* stage = stages + following % STAGES * STAGE;
                    a = stage + ty - PITCH;
                    x = stage + TILE_A + tx - WIDE;
                }
                a += PITCH;
                x += WIDE;
                cells[(i + 1) % 2].read(a, x);
                multiply(sum, cells[i % 2]);
            }
        }
    }

    // Store: fours of columns, 16 bytes where rows begin at multiples of them.
    #pragma unroll
    for (int r = 0; r < PATCH_HIGH; ++r) {
        const int row = top + ty + r / 4 * 16 + r % 4;
        #pragma unroll
        for (int s = 0; s < PATCH_WIDE; s += 4) {
            const int col = left + tx + 8 * s;
            float* to = Y + (size_t)row * cols + col;
            if (COPY == 4) {
                if (row < rows && col < cols) {
                    *reinterpret_cast<float4*>(to) =
                        make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]);
                }
            } else {
                for (int i = 0; i < 4; ++i) {
                    if (row < rows && col + i < cols) to[i] = sum[r][s + i];
                }
            }
        }
    }
}
