// mma.cuh -- what the kernels on tensor cores share: a product of fragments, copies in the background, FP32 split into halves
//
// The product and the copy have two forms that mean the same: inline PTX, from compute capability 8.0 on, and plain CUDA, which
// other GPUs run, and the simulator, which defines HALO_SIMULATOR. -D HALF_IO=1: x and y are halves.
#pragma once
#include <cuda_fp16.h>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(HALO_SIMULATOR)
#define INLINE_PTX 1
#else
#define INLINE_PTX 0
#endif
typedef unsigned Pair;                                                    // two neighbouring halves, the first in the lower bits
__device__ __forceinline__ float2 floats_of(Pair pair) { return __half22float2(*reinterpret_cast<const __half2*>(&pair)); }
__device__ __forceinline__ Pair pair_of(float a, float b)
{
    const __half2 pair = __floats2half2_rn(a, b);
    return *reinterpret_cast<const Pair*>(&pair);
}
__device__ __forceinline__ Pair rest_of(float a, float b, Pair high)   // what rounding left of (a, b), rounded itself
{
    const float2 rounded = floats_of(high);
    return pair_of(a - rounded.x, b - rounded.y);
}

// A cell of x or y, and four of them.
#if HALF_IO
using Cell = __half;
using Four = uint2;
__device__ __forceinline__ Pair two_cells(float2 v) { return pair_of(v.x, v.y); }
__device__ __forceinline__ uint2 four_cells(float4 v) { return make_uint2(pair_of(v.x, v.y), pair_of(v.z, v.w)); }
#else
using Cell = float;
using Four = float4;
__device__ __forceinline__ float2 two_cells(float2 v) { return v; }
__device__ __forceinline__ float4 four_cells(float4 v) { return v; }
#endif
// n outputs, 2 or 4, from shared memory to y.
template <int n> __device__ __forceinline__ void store_outputs(Cell* to, const float* from)
{
    if constexpr (n == 4) *reinterpret_cast<Four*>(to) = four_cells(*reinterpret_cast<const float4*>(from));
    else *reinterpret_cast<decltype(two_cells(float2()))*>(to) = two_cells(*reinterpret_cast<const float2*>(from));
}
// Four cells as halves; what these leave of them goes to `rest`, where it is not null.
__device__ __forceinline__ void store_halves(Pair* to, Pair*, uint2 cells) { *reinterpret_cast<uint2*>(to) = cells; }
__device__ __forceinline__ void store_halves(Pair* to, Pair* rest, float4 v)
{
    const uint2 high = make_uint2(pair_of(v.x, v.y), pair_of(v.z, v.w));
    *reinterpret_cast<uint2*>(to) = high;
    if (rest) *reinterpret_cast<uint2*>(rest) = make_uint2(rest_of(v.x, v.y, high.x), rest_of(v.z, v.w, high.y));
}

// sum += A B of one warp, A 16 x 16, B 16 x 8, sum 16 x 8. Lane 4 g + q holds
//   of A    rows g, g + 8, g, g + 8, columns 2 q and 2 q + 1 (x and y), 2 q + 8 and 2 q + 9 (z and w)
//   of B    rows 2 q and 2 q + 1 (low), 2 q + 8 and 2 q + 9 (high), column g
//   of sum  row g, columns 2 q and 2 q + 1 (0 and 1); row g + 8, the same columns (2 and 3)
__device__ __forceinline__ void multiply(float (&sum)[4], const uint4& a, Pair low, Pair high)
{
#if INLINE_PTX
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(low), "r"(high));
#else
    const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
    const unsigned long long upper = a.x | (unsigned long long)a.z << 32, lower = a.y | (unsigned long long)a.w << 32;
    const unsigned long long b = low | (unsigned long long)high << 32;
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {   // the lanes that hold these four rows of B, and columns of A
        const unsigned long long factors[2] = {__shfl_sync(~0u, upper, 4 * row + k), __shfl_sync(~0u, lower, 4 * row + k)};
        for (int j = 0; j < 2; ++j) {
            const unsigned long long cells = __shfl_sync(~0u, b, 4 * (column + j) + k);
            for (int i = 0; i < 2; ++i) {
                const float2 f = floats_of(Pair(factors[i])), g = floats_of(Pair(factors[i] >> 32));
                const float2 c = floats_of(Pair(cells)), d = floats_of(Pair(cells >> 32));
                sum[2 * i + j] += f.x * c.x + f.y * c.y + g.x * d.x + g.y * d.y;
            }
        }
    }
#endif
}

// A product of FP32 numbers is three products of halves, the smaller first: what rounding left of the cells with the weights'
// larger halves, the cells' larger halves with what it left of the weights, the larger halves.
constexpr int PRODUCTS = PARTS == 2 ? 3 : 1;
__host__ __device__ constexpr int rest_of_cells(int product) { return PARTS == 2 && product == 0; }
__host__ __device__ constexpr int rest_of_weights(int product) { return PARTS == 2 && product == 1; }

// COUNT vectors, copied from global to shared memory by THREADS threads; between begin and end they are on their way.
template <class Vector, int COUNT, int THREADS> struct Copy {
    static constexpr int ROUNDS = (COUNT + THREADS - 1) / THREADS;
#if !INLINE_PTX
    Vector held[ROUNDS];
#endif
    __device__ __forceinline__ void begin(Vector* to, const Vector* from)
    {
        #pragma unroll
        for (int k = 0; k < ROUNDS; ++k) {
            const int s = k * THREADS + threadIdx.x;
            if (s >= COUNT) continue;
#if INLINE_PTX
            const unsigned there = (unsigned)__cvta_generic_to_shared(to + s);
            if (sizeof(Vector) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(there), "l"(from + s));
            else asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(there), "l"(from + s));
#else
            held[k] = from[s];
#endif
        }
#if INLINE_PTX
        asm volatile("cp.async.commit_group;");
#endif
    }
    __device__ __forceinline__ void end(Vector* to)   // of this thread's own copies: a barrier is still needed
    {
#if INLINE_PTX
        asm volatile("cp.async.wait_group 0;" ::: "memory");
#else
        for (int k = 0, s = threadIdx.x; k < ROUNDS; ++k, s += THREADS) if (s < COUNT) to[s] = held[k];
#endif
    }
};

// What has arrived, COUNT times four cells, as halves; where PARTS is 2, what these leave of them `part` Pairs behind.
template <int COUNT, int THREADS> __device__ __forceinline__ void split_cells(Pair* halves, int part, const Four* arrived)
{
    #pragma unroll
    for (int k = 0; k < (COUNT + THREADS - 1) / THREADS; ++k) {
        const int s = k * THREADS + threadIdx.x;
        if (s < COUNT) store_halves(halves + 2 * s, PARTS == 2 ? halves + part + 2 * s : nullptr, arrived[s]);
    }
}
// The same for all threads of a block, between barriers: `arrived` may be filled again. Halves stay where they are, and the two
// buffers change places.
template <int COUNT, int THREADS> __device__ __forceinline__ void take_cells(Pair*& cells, int part, Four*& arrived)
{
#if HALF_IO
    Pair* const taken = reinterpret_cast<Pair*>(arrived);
    arrived = reinterpret_cast<Four*>(cells), cells = taken;
#else
    split_cells<COUNT, THREADS>(cells, part, arrived);
    __syncthreads();   // threads read what others split
#endif
}

// Outputs of a block, gathered in shared memory, leave for y in the background. Pieces lie alike in their sectors of 32 bytes here
// and there: else each is written as two. Each call is made by all threads:
//   outputs_are_made, a barrier, outputs_leave ... outputs_have_left, a barrier: their memory may be written again.
#if INLINE_PTX && __CUDA_ARCH__ >= 900
#define BULK_COPIES 1
#else
#define BULK_COPIES 0
#endif
__device__ __forceinline__ void outputs_are_made()   // what this thread wrote is seen by the copy engine
{
#if BULK_COPIES
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
template <int THREADS> __device__ __forceinline__ void outputs_leave(Cell* to, const Cell* from, int count)   // whole 16 bytes
{
#if BULK_COPIES
    if (threadIdx.x > 0) return;
    const unsigned there = (unsigned)__cvta_generic_to_shared(from), bytes = count * sizeof(Cell);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(there), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
#else
    for (int i = threadIdx.x; i < count * (int)sizeof(Cell) / 16; i += THREADS)
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
#endif
}
__device__ __forceinline__ void outputs_have_left()
{
#if BULK_COPIES
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
