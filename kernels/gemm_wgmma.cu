// gemm_wgmma.cu -- product of matrices of halves by the products of warpgroups
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       The pipeline of gemm_pipelined feeds tensor cores. A warpgroup (four warps) computes 64
//            x 256 outputs: it starts products of 64 x 16 by 16 x 256, which read both tiles from
//            shared memory themselves and run in the background. While they do, its threads start
//            the copies of a later step. The 16-byte pieces of a tile's row are stored in another
//            order in each of eight rows (swizzled), so that no two rows of a piece share banks.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes.
// Launch     block = (256, 1, 1); grid = (ceil(cols / 256), ceil(rows / 128), 1)
// Sizes      any rows >= 1; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 1024 + 4 * 49,152 bytes
// Constants  none. Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#include <cuda_fp16.h>

constexpr int HIGH = 128;                     // rows of a block's outputs: 64 of each warpgroup
constexpr int WIDE = 256;                     // and columns
constexpr int DEPTH = 64;                     // of a step along `inner`: a row of A's tile has 128 bytes
constexpr int STAGES = 4;                     // steps in shared memory
constexpr int THREADS = 256;
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's
constexpr int PIECE = 8;                      // halves of one copy: 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces

// Starts the copy of a piece to its place in row `row` of a tile whose rows have 128 bytes. Cells
// beyond the matrix become zeros: they add nothing.
__device__ __forceinline__ void start_copy(
    half* tile, int row, int piece, const half* from, bool inside)
{
    half* to = tile + row * ROW + (piece ^ row % 8) * PIECE;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

// Starts this thread's share of the copies of a step. A's tile is [row][64 steps]. X's tile is cut
// into four blocks of 64 columns, each [step][64 columns].
__device__ __forceinline__ void start_copies(
    half* stage, const half* A, const half* X, int top, int left, int first, int rows, int cols,
    int inner)
{
    const int piece = threadIdx.x % 8;
    #pragma unroll
    for (int row = threadIdx.x / 8; row < HIGH; row += THREADS / 8) {
        const int i = first + piece * PIECE;
        const bool inside = top + row < rows && i < inner;
        start_copy(stage, row, piece, inside ? A + (size_t)(top + row) * inner + i : A, inside);
    }
    const int block = threadIdx.x / 8 % 4;
    const int col = left + block * ROW + piece * PIECE;
    half* tile = stage + TILE_A + block * DEPTH * ROW;
    #pragma unroll
    for (int step = threadIdx.x / 32; step < DEPTH; step += THREADS / 32) {
        const int i = first + step;
        const bool inside = i < inner && col < cols;
        start_copy(tile, step, piece, inside ? X + (size_t)i * cols + col : X, inside);
    }
}

// What a product needs to know of a swizzled tile: its address / 16, from bit 16 on the distance of
// two blocks of 64 columns / 16 (of X), from bit 32 on that of two groups of eight rows / 16, and in
// bit 62 that pieces are swizzled over 128 bytes.
__device__ __forceinline__ unsigned long long descriptor(const half* tile)
{
    const unsigned long long address = (unsigned)__cvta_generic_to_shared(tile) / 16;
    const unsigned long long next_block = DEPTH * ROW * 2 / 16;
    const unsigned long long next_eight = 8 * ROW * 2 / 16;
    return address | next_block << 16 | next_eight << 32 | 1ull << 62;
}

#define SUMS_8(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
    "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)

// Starts sum += a * x for 16 steps along `inner`, in the background.
__device__ __forceinline__ void start_product(
    float (&sum)[128], unsigned long long a, unsigned long long x)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
        "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "
        "%124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 1;"   // X's columns are its fast axis
        : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
        : "l"(a), "l"(x));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm_wgmma(
    half* Y, const half* __restrict__ A, const half* __restrict__ X, int rows, int cols, int inner)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    // Swizzling goes by the address: a tile begins at a multiple of 1,024 bytes.
    const unsigned gap = -(unsigned)__cvta_generic_to_shared(memory) % 1024;
    half* stages = reinterpret_cast<half*>(memory + gap);
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    const int group = threadIdx.x / 128;

    // The first copies. One group a step, also behind the last step: then the group is empty.
    for (int step = 0; step < STAGES - 2; ++step) {
        if (step < steps) {
            start_copies(stages + step * STAGE, A, X, top, left, step * DEPTH, rows, cols, inner);
        }
        asm volatile("cp.async.commit_group;");
    }

    float sum[128] = {};
    for (int step = 0; step < steps; ++step) {
        // Wait until this step's tiles are there, also the shares of the other threads, and in sight
        // of the tensor cores. Behind the barrier, both warpgroups are done with step - 2.
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 3) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();

        // Start the products of this step.
        const half* stage = stages + step % STAGES * STAGE;
        const unsigned long long a = descriptor(stage + group * 64 * ROW);
        const unsigned long long x = descriptor(stage + TILE_A);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int i = 0; i < DEPTH; i += 16) {
            start_product(sum, a + i * 2 / 16, x + i * ROW * 2 / 16);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");

        // Start the copies of a later step into the stage of step - 2.
        const int next = step + STAGES - 2;
        if (next < steps) {
            half* to = stages + next % STAGES * STAGE;
            start_copies(to, A, X, top, left, next * DEPTH, rows, cols, inner);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");   // step - 1 is done
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

    // Store. Lane 4 g + q of a warp holds, for every eight columns, two neighbouring outputs of row
    // g and two of row g + 8.
    const int lane = threadIdx.x % 32;
    const int row = top + threadIdx.x / 32 * 16 + lane / 4;
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
