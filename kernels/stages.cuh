// stages.cuh -- an image's way through shared memory: copied there, made halves, copied back
//
// Words, beside those of mma.cuh:
//   stage   shared memory into which the next image is copied during the work on this one
#pragma once
#include "copies.cuh"
#include "mma.cuh"

// ------------------------------------------------------------------------------------------------
// Copies in the background, from global to shared memory

// Starts copies of COUNT vectors of 8 or 16 bytes, by THREADS threads. The threads go on at once,
// and no register holds the cells meanwhile.
template <int COUNT, int THREADS, class Vector>
__device__ __forceinline__ void copy_async(Vector* to, const Vector* from)
{
    #pragma unroll
    for (int first = 0; first < COUNT; first += THREADS) {
        const int i = first + threadIdx.x;
        if (i < COUNT) {
            if constexpr (sizeof(Vector) == 16) {
                start_copy_past_l1(shared_address(to + i), from + i, 16);
            } else {
                start_copy<8>(shared_address(to + i), from + i, 8);
            }
        }
    }
    commit_copies();
}

// ------------------------------------------------------------------------------------------------
// From the stage to the cells that products take

// Stores four cells as halves, and with PARTS = 2 their residuals PART Pairs further on.
template <int PART>
__device__ __forceinline__ void split(Pair* halves, float4 cells)
{
    const uint2 rounded = make_uint2(to_pair(cells.x, cells.y), to_pair(cells.z, cells.w));
    *reinterpret_cast<uint2*>(halves) = rounded;
    if constexpr (PARTS == 2) {
        const Pair first = residual_pair(cells.x, cells.y, rounded.x);
        const Pair second = residual_pair(cells.z, cells.w, rounded.y);
        *reinterpret_cast<uint2*>(halves + PART) = make_uint2(first, second);
    }
}

// Splits COUNT times four cells of the stage, by THREADS threads. Threads need cells that others
// split: a barrier must follow.
template <int PART, int COUNT, int THREADS>
__device__ __forceinline__ void split_stage(Pair* cells, const float4* stage)
{
    #pragma unroll
    for (int first = 0; first < COUNT; first += THREADS) {
        const int i = first + threadIdx.x;
        if (i < COUNT) {
            split<PART>(cells + 2 * i, stage[i]);
        }
    }
}

// Makes the stage's image the block's image, by THREADS threads; then the stage is free again. All
// threads call it, after a barrier. Cells of float32 are split. Halves stay where they are: the two
// buffers change their roles.
template <int PART, int COUNT, int THREADS>
__device__ __forceinline__ void take_stage(Pair*& cells, Cells4*& stage)
{
#if HALF_IO
    Pair* const image = reinterpret_cast<Pair*>(stage);
    stage = reinterpret_cast<Cells4*>(cells);
    cells = image;
#else
    split_stage<PART, COUNT, THREADS>(cells, stage);
    __syncthreads();   // threads read what others split
#endif
}

// ------------------------------------------------------------------------------------------------
// Bulk stores, from shared to global memory
//
// One thread starts the copy of a whole block of outputs, and the copy engine makes it in the
// background (compute capability 9.0 and later; before that, the threads copy). The order of calls,
// each by all threads:
//   write the outputs, fence_outputs, a barrier, store_bulk;
//   later wait_for_bulk_stores, a barrier, write the next outputs.
// A sector of y, 32 bytes, is written in one piece if the outputs lie alike in their sectors in
// shared memory.

#ifndef BULK_STORES
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BULK_STORES 1
#else
#define BULK_STORES 0
#endif
#endif

// Makes what this thread wrote to shared memory visible to the copy engine.
__device__ __forceinline__ void fence_outputs()
{
#if BULK_STORES
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Starts the copy of `count` outputs, whole vectors of 16 bytes, by this thread.
__device__ __forceinline__ void start_bulk_store(Cell* to, const Cell* from, int count)
{
#if BULK_STORES
    const unsigned address = (unsigned)__cvta_generic_to_shared(from);
    const unsigned bytes = count * sizeof(Cell);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(address), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
#endif
}

// Starts the copy of `count` outputs, whole vectors of 16 bytes, by THREADS threads.
template <int THREADS>
__device__ __forceinline__ void store_bulk(Cell* to, const Cell* from, int count)
{
#if BULK_STORES
    if (threadIdx.x == 0) {
        start_bulk_store(to, from, count);
    }
#else
    for (int i = threadIdx.x; i < count * (int)sizeof(Cell) / 16; i += THREADS) {
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
#endif
}

// Waits until the bulk stores that this thread has started have read shared memory.
__device__ __forceinline__ void wait_for_bulk_stores()
{
#if BULK_STORES
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
