// gemm_wgmma.cu -- product of matrices of halves by the products of warpgroups
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       The pipeline of gemm_pipelined feeds tensor cores. A warpgroup is four warps. One of
//            them, the producer, only copies tiles to shared memory. Two others, the consumers,
//            compute 64 x 256 outputs each: they start products of 64 x 16 by 16 x 256, which read
//            both tiles from shared memory themselves. Producer and consumers wait for each other
//            at barriers in shared memory (mbarrier, as in copy_bulk), two for each stage: "full"
//            and "empty". The 16-byte pieces of a tile's row lie in another order in each of eight
//            rows (swizzled), so that the same piece of eight rows lies in different banks.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes.
// Launch     block = (384, 1, 1); grid = (ceil(cols / 256), ceil(rows / 128), 1)
// Sizes      any rows >= 1; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 2048 + 4 * 49,152 bytes
// Constants  none. Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#include <cuda_fp16.h>

constexpr int HIGH = 128;                     // rows of a block's outputs: 64 of each consumer
constexpr int WIDE = 256;                     // and columns
constexpr int DEPTH = 64;                     // of a step along `inner`: 128 bytes of a row of A
constexpr int STAGES = 4;                     // steps in shared memory
constexpr int GROUP = 128;                    // threads of a warpgroup
constexpr int PIECE = 8;                      // halves of one copy: 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

// ------------------------------------------------------------------------------------------------
// Barriers, as in warpgroup.cuh. A phase ends when as many threads have arrived as the barrier was
// made for; a thread waits for the end of the phases with the parity 0, 1, 0, ...

typedef unsigned long long Barrier;

__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ __forceinline__ void make_barrier(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}

// Arrives when the copies that this thread has started so far are there.
__device__ __forceinline__ void arrive_after_copies(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                 :: "r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void wait_for(Barrier* barrier, int parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}"
        :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

// ------------------------------------------------------------------------------------------------
// The producer

// Starts the copy of a piece to its place in a row of a tile. Nothing is read and zeros are written
// for a piece beyond the matrix: it adds nothing.
__device__ __forceinline__ void start_copy(
    half* tile, int row, int piece, const half* from, bool inside)
{
    const half* to = tile + row * ROW + (piece ^ row % 8) * PIECE;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

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
        start_copy(stage, row, piece, from, row < high && piece * PIECE < deep);
    }
    const int column = t / 8 % 4 * ROW + piece * PIECE;
    half* block = stage + TILE_A + t / 8 % 4 * DEPTH * ROW;
    #pragma unroll
    for (int turn = 0; turn < DEPTH * 32 / GROUP; ++turn) {
        const int step = t / 32 + turn * (GROUP / 32);
        const half* from = x + (size_t)step * cols + column;
        start_copy(block, step, piece, from, step < deep && column < wide);
    }
}

// ------------------------------------------------------------------------------------------------
// The consumers

// What a product needs to know of a swizzled tile: its address / 16, from bit 16 on the distance of
// two blocks of 64 columns / 16 (of X), from bit 32 on that of two groups of eight rows / 16, and
// in bit 62 that pieces are swizzled over 128 bytes.
__device__ __forceinline__ unsigned long long descriptor(const half* tile)
{
    const unsigned long long address = shared_address(tile) / 16;
    const unsigned long long next_block = DEPTH * ROW * 2 / 16;
    const unsigned long long next_eight = 8 * ROW * 2 / 16;
    return address | next_block << 16 | next_eight << 32 | 1ull << 62;
}

#define SUMS_8(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
    "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)

// Starts sum += a * x for 16 steps along `inner`, in the background. The numbers behind both tiles
// say: add to the sums; A and X times 1; the fast axis of A is that of the steps (0), that of X is
// that of its columns (1).
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
        "%124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 1;"
        : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
        : "l"(a), "l"(x));
}

// ------------------------------------------------------------------------------------------------

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
        // Produce. A stage is taken again when both consumers are done with it. It is taken for the
        // time u = step / STAGES (from 0 on), and its u-th phases have the parity u & 1.
        for (int step = 0; step < steps; ++step) {
            const int stage = step % STAGES;
            const int first = step * DEPTH;
            if (step >= STAGES) wait_for(empty + stage, step / STAGES - 1 & 1);
            start_copies(stages + stage * STAGE, A + (size_t)top * inner + first,
                         X + (size_t)first * cols + left, cols, inner, rows - top, inner - first,
                         cols - left, t);
            arrive_after_copies(full + stage);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");   // shared memory lives as long as they
        return;
    }

    // Consume. The products of a step run while the next step is waited for.
    float sum[128] = {};
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES;
        wait_for(full + stage, step / STAGES & 1);
        asm volatile("fence.proxy.async;" ::: "memory");   // tensor cores see what was copied
        const half* tiles = stages + stage * STAGE;
        const unsigned long long a = descriptor(tiles + group * 64 * ROW);
        const unsigned long long x = descriptor(tiles + TILE_A);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int i = 0; i < DEPTH; i += 16) {
            start_product(sum, a + i * 2 / 16, x + i * ROW * 2 / 16);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");   // step - 1 is done
        if (step > 0 && t == 0) arrive(empty + (step - 1) % STAGES);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

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
