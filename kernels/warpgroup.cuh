// warpgroup.cuh -- products of warpgroups: barriers, bulk copies, descriptors, the instruction
//
// Words, beside those of mma.cuh:
//   warpgroup    four warps, the first of which has a number divisible by 4: 128 threads
//   descriptor   64 bits that say where in shared memory a matrix lies
//   swizzled     with the 16-byte pieces of each row of a tile in an order that the row decides
//
// It needs compute capability 9.0, compiled for sm_90a: these instructions belong to it alone.
#pragma once
#include <cuda_fp16.h>
#include "copies.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#error "warpgroup.cuh supports compute capability 9.0 only; compile with -arch=sm_90a"
#endif

constexpr int GROUP = 128;   // threads of a warpgroup

// ------------------------------------------------------------------------------------------------
// Barriers
//
// An mbarrier lies in shared memory. A phase of it ends when as many threads have arrived, and as
// many bytes have come, as it waits for; then the next one begins. A thread waits for the end of
// the phase with the parity 0, 1, 0, ... A new barrier is in a phase of parity 0, and the phase
// before it, of parity 1, counts as over: a wait for parity 1 returns at once.

typedef unsigned long long Barrier;

__device__ __forceinline__ void make_barrier(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}

// Arrives when the copies by cp.async that this thread has started so far are there.
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

// A place in a ring of SLOTS slots, and the parity of the phase in which it is filled.
template <int SLOTS>
struct Place {
    int slot = 0;
    int parity = 0;

    __device__ __forceinline__ void advance()
    {
        if (++slot == SLOTS) {
            slot = 0;
            parity ^= 1;
        }
    }
};

// Bulk loads, from global to shared memory. One thread arrives at the barrier, says how many bytes
// its phase waits for, and starts their copy: one arrival for each call.
__device__ __forceinline__ void load_bulk(void* to, const void* from, int bytes, Barrier* barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

// ------------------------------------------------------------------------------------------------
// Products of a warpgroup

// A matrix in shared memory, in pieces of 8 rows (of A) or columns (of B) by 16 bytes: 128 bytes
// without a gap. Bits 0 to 13: its address / 16; 16 to 29: from a piece to the other 8 of the 16
// elements that a product sums up, / 16; 32 to 45: to the next 8 rows or columns, / 16.
typedef unsigned long long Descriptor;

__device__ __forceinline__ Descriptor descriptor(unsigned address, int other_half, int next_eight)
{
    return (Descriptor)(address / 16) | (Descriptor)other_half << 16 | (Descriptor)next_eight << 32;
}

// A swizzled tile begins at a multiple of 1,024 bytes, and its rows have 128 bytes: 8 pieces of 16.
// Piece i of row r lies in the place i ^ r % 8, so that the same piece of eight rows lies in
// different banks. Bit 62 of the descriptor says so. next_block: if the tile's rows are those of B,
// from its 64 columns to the next 64, / 16; next_eight: to the tile's next eight rows, / 16.
__device__ __forceinline__ Descriptor swizzled(const void* tile, int next_block, int next_eight)
{
    return descriptor(shared_address(tile), next_block, next_eight) | 1ull << 62;
}

// Starts the copy of a piece to its place in a row of a swizzled tile. inside = false: the piece
// lies beyond the matrix, and is filled with zeros, which add nothing.
__device__ __forceinline__ void start_swizzled_copy(
    half* tile, int row, int piece, const half* from, bool inside)
{
    const half* to = tile + row * 64 + (piece ^ row % 8) * 8;
    start_copy_past_l1(shared_address(to), from, inside ? 16 : 0);
}

// Sums: lane 4 g + q of warp w of the warpgroup holds, for n = 0, 8, 16, ... columns,
//   sum[n / 2], sum[n / 2 + 1]       row 16 w + g, columns n + 2 q and n + 2 q + 1
//   sum[n / 2 + 2], sum[n / 2 + 3]   row 16 w + g + 8, the same columns

// PLAIN_PRODUCTS = 1, by -D: by plain code, which the simulator runs.
#ifndef PLAIN_PRODUCTS
#define PLAIN_PRODUCTS 0
#endif
#if PLAIN_PRODUCTS
#include "plain_products.cuh"
#else

// The order of calls, by a whole warpgroup: begin_products, products, end_products; then
// wait_for_products, and only then the sums are there.
__device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void end_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the last `left` groups of products are made.
template <int left>
__device__ __forceinline__ void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(left) : "memory");
}

// Names of the registers of the sums of 8, 16, ... columns.
#define NAMES_8 "%0, %1, %2, %3"
#define NAMES_16 NAMES_8 ", %4, %5, %6, %7"
#define NAMES_24 NAMES_16 ", %8, %9, %10, %11"
#define NAMES_32 NAMES_24 ", %12, %13, %14, %15"
#define NAMES_40 NAMES_32 ", %16, %17, %18, %19"
#define NAMES_48 NAMES_40 ", %20, %21, %22, %23"
#define NAMES_56 NAMES_48 ", %24, %25, %26, %27"
#define NAMES_64 NAMES_56 ", %28, %29, %30, %31"
#define NAMES_72 NAMES_64 ", %32, %33, %34, %35"
#define NAMES_80 NAMES_72 ", %36, %37, %38, %39"
#define NAMES_88 NAMES_80 ", %40, %41, %42, %43"
#define NAMES_96 NAMES_88 ", %44, %45, %46, %47"
#define NAMES_104 NAMES_96 ", %48, %49, %50, %51"
#define NAMES_112 NAMES_104 ", %52, %53, %54, %55"
#define NAMES_120 NAMES_112 ", %56, %57, %58, %59"
#define NAMES_128 NAMES_120 ", %60, %61, %62, %63"
#define NAMES_136 NAMES_128 ", %64, %65, %66, %67"
#define NAMES_144 NAMES_136 ", %68, %69, %70, %71"
#define NAMES_152 NAMES_144 ", %72, %73, %74, %75"
#define NAMES_160 NAMES_152 ", %76, %77, %78, %79"
#define NAMES_168 NAMES_160 ", %80, %81, %82, %83"
#define NAMES_176 NAMES_168 ", %84, %85, %86, %87"
#define NAMES_184 NAMES_176 ", %88, %89, %90, %91"
#define NAMES_192 NAMES_184 ", %92, %93, %94, %95"
#define NAMES_200 NAMES_192 ", %96, %97, %98, %99"
#define NAMES_208 NAMES_200 ", %100, %101, %102, %103"
#define NAMES_216 NAMES_208 ", %104, %105, %106, %107"
#define NAMES_224 NAMES_216 ", %108, %109, %110, %111"
#define NAMES_232 NAMES_224 ", %112, %113, %114, %115"
#define NAMES_240 NAMES_232 ", %116, %117, %118, %119"
#define NAMES_248 NAMES_240 ", %120, %121, %122, %123"
#define NAMES_256 NAMES_248 ", %124, %125, %126, %127"

#define SUMS_8(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
    "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)

// Defines start_product, which starts sum = A B (keep = 0) or sum += A B (keep = 1) in the
// background, for A of 64 x 16 and B of 16 x COLUMNS halves: COLUMNS, a multiple of 8 up to 256. A
// thread has COLUMNS / 2 sums; the instruction does not name the others. TRANSPOSED = 0: the 16
// halves of a column of B lie side by side, as those of a row of A do; 1: those of a row of B. The
// numbers behind `keep` say that A and B are taken times 1, and that A is not transposed.
#define DEFINE_START_PRODUCT(COLUMNS, TRANSPOSED)                                                  \
    __device__ __forceinline__ void start_product(                                                 \
        float (&sum)[128], Descriptor a, Descriptor b, int keep)                                   \
    {                                                                                              \
        asm volatile(                                                                              \
            "{\n"                                                                                  \
            ".reg .pred keep;\n"                                                                   \
            "setp.ne.b32 keep, %130, 0;\n"                                                         \
            "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.f16.f16 "                        \
            "{" NAMES_##COLUMNS "}, %128, %129, keep, 1, 1, 0, " #TRANSPOSED ";\n"                 \
            "}"                                                                                    \
            : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)                                    \
            : "l"(a), "l"(b), "r"(keep));                                                          \
    }
// The same for a COLUMNS that is a macro itself: # and ## above would take its name, not its value.
#define DEFINE_START_PRODUCT_FOR(COLUMNS) DEFINE_START_PRODUCT(COLUMNS, 0)
#endif
