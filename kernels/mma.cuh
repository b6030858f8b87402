// mma.cuh -- what the kernels on tensor cores share: fragments, split numbers, background copies
//
// Words, as in NVIDIA's PTX manual:
//   fragment      one lane's registers of a matrix A or B; the 32 lanes of a warp hold it together
//   accumulator   one lane's registers of the matrix of sums
//   stage         shared memory into which the next image is copied during the work on this one
//   epilogue      what happens to the sums between the last product and y
//
// A kernel sets these before it includes this file, by -D or by its own defaults:
//   PARTS = 1     A cell or a weight is rounded to half.
//   PARTS = 2     A cell or a weight is the sum of two halves: the number rounded to half, and the
//                 residual, rounded to half. Both have 22 significant bits (FP32: 24), if the
//                 largest numbers lie from 1/8 to 65,504; below, bits are lost; above, all is NaN.
//   HALF_IO = 1   x and y hold halves; 0: float32.
//
// It needs compute capability 8.0, for its products and for copies in the background.
#pragma once
#include <cuda_fp16.h>
#include "copies.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "mma.cuh supports compute capability 8.0 and later; compile with -arch=sm_80 or a newer one"
#endif

// ------------------------------------------------------------------------------------------------
// Pairs of halves, and cells of x and y

// Two neighbouring halves in one register, the first in the lower 16 bits.
typedef unsigned Pair;

__device__ __forceinline__ float2 to_floats(Pair pair)
{
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

__device__ __forceinline__ Pair to_pair(float first, float second)
{
    const __half2 pair = __floats2half2_rn(first, second);
    return *reinterpret_cast<const Pair*>(&pair);
}

// The residual of two numbers that to_pair has rounded to `rounded`.
__device__ __forceinline__ Pair residual_pair(float first, float second, Pair rounded)
{
    const float2 kept = to_floats(rounded);
    return to_pair(first - kept.x, second - kept.y);
}

// A cell of x or y, and two and four neighbouring cells, which one access moves.
#if HALF_IO
using Cell = __half;
using Cells2 = Pair;
using Cells4 = uint2;

__device__ __forceinline__ Cells2 to_cells(float2 values)
{
    return to_pair(values.x, values.y);
}

__device__ __forceinline__ Cells4 to_cells(float4 values)
{
    return make_uint2(to_pair(values.x, values.y), to_pair(values.z, values.w));
}
#else
using Cell = float;
using Cells2 = float2;
using Cells4 = float4;

__device__ __forceinline__ Cells2 to_cells(float2 values)
{
    return values;
}

__device__ __forceinline__ Cells4 to_cells(float4 values)
{
    return values;
}
#endif

__device__ __forceinline__ void store_outputs(Cell* to, float2 outputs)
{
    *reinterpret_cast<Cells2*>(to) = to_cells(outputs);
}

__device__ __forceinline__ void store_outputs(Cell* to, float4 outputs)
{
    *reinterpret_cast<Cells4*>(to) = to_cells(outputs);
}

// ------------------------------------------------------------------------------------------------
// The product of fragments

// One lane's part of a 16 x 8 matrix of sums.
typedef float Accumulator[4];

// sum += A B, by a whole warp: A is 16 x 16, B is 16 x 8, sum is 16 x 8. Lane 4 g + q holds
//   of A    a.x: row g, columns 2 q and 2 q + 1        a.y: row g + 8, the same columns
//           a.z: row g, columns 2 q + 8 and 2 q + 9    a.w: row g + 8, the same columns
//   of B    b_low: rows 2 q and 2 q + 1, column g      b_high: rows 2 q + 8 and 2 q + 9, column g
//   of sum  sum[0], sum[1]: row g, columns 2 q and 2 q + 1
//           sum[2], sum[3]: row g + 8, the same columns
__device__ __forceinline__ void multiply(Accumulator& sum, const uint4& a, Pair b_low, Pair b_high)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

// A product of FP32 numbers takes three products of halves, the smaller ones first:
//   0   the cells' residuals times the weights
//   1   the cells times the weights' residuals
//   2   the cells times the weights
// The product of both residuals is smaller than what FP32 rounds away. With PARTS = 1 there is one
// product.
constexpr int PRODUCTS = PARTS == 2 ? 3 : 1;

// The part of the cells, or of the weights, that a product takes: 0, the number rounded to half, or
// 1, its residual.
__host__ __device__ constexpr int cell_part(int product)
{
    return PARTS == 2 && product == 0;
}

__host__ __device__ constexpr int weight_part(int product)
{
    return PARTS == 2 && product == 1;
}

// ------------------------------------------------------------------------------------------------
// Convolutions as products: a column of B serves a pair of outputs
//
// The 16 rows of A are output maps. A column of B holds 8 neighbouring cells of two rows of x, from
// an even column on, so that two halves are one register. With the weights as they are it gives
// output w; with the weights shifted by one column it gives output w + 1. A tile is 8 columns of B,
// that is 8 pairs of outputs, and each is computed for two rows of outputs, h and h + 1.

// A lane's sums of one tile: [row h or h + 1][shift: output w or w + 1].
typedef Accumulator PairSums[2][2];

// Adds the products of two channels to the sums of TILES tiles.
//   fragments      of A, (step, shift, part): the one that follows is STRIDE further on
//   windows        of each tile, the lane's first Pair of row h in the first channel
//   ROW, PLANE     Pairs in a row, and in a channel
//   PART           Pairs between a cell and its residual
template <int K, int ROW, int PLANE, int PART, int STRIDE, int TILES>
__device__ __forceinline__ void multiply_two_channels(
    PairSums (&sum)[TILES], const uint4* fragments, const Pair* const (&windows)[TILES])
{
    // The filter has 2 K rows in two channels. A step takes two of them, which may belong to
    // different channels: B's rows 0 to 7 are cells of the one, its rows 8 to 15 of the other. All
    // loops are unrolled, so that offsets are constants.
    #pragma unroll
    for (int step = 0; step < K; ++step) {
        const int low_row = 2 * step % K * ROW + 2 * step / K * PLANE;
        const int high_row = (2 * step + 1) % K * ROW + (2 * step + 1) / K * PLANE;

        // Products that follow each other go to different sums: none waits for the one before.
        #pragma unroll
        for (int product = 0; product < PRODUCTS; ++product) {
            #pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                #pragma unroll
                for (int row = 0; row < 2; ++row) {
                    #pragma unroll
                    for (int shift = 0; shift < 2; ++shift) {
                        const Pair* cells = windows[tile] + cell_part(product) * PART + row * ROW;
                        const int fragment = (step * 2 + shift) * PARTS + weight_part(product);
                        const uint4& a = fragments[fragment * STRIDE];
                        multiply(sum[tile][row][shift], a, cells[low_row], cells[high_row]);
                    }
                }
            }
        }
    }
}

// Adds the sums of some channels to those of the channels before, in FP32.
template <int TILES>
__device__ __forceinline__ void add(PairSums (&total)[TILES], const PairSums (&sum)[TILES])
{
    for (int tile = 0; tile < TILES; ++tile) {
        for (int row = 0; row < 2; ++row) {
            for (int shift = 0; shift < 2; ++shift) {
                for (int i = 0; i < 4; ++i) {
                    total[tile][row][shift][i] += sum[tile][row][shift][i];
                }
            }
        }
    }
}

// Stores a tile's outputs, 16 maps of OUT_H rows of OUT_W columns, in shared memory. `first` is the
// tile's first pair, counted over the pairs of the whole map; what lies beyond the last pair is
// left out.
template <int OUT_H, int OUT_W>
__device__ __forceinline__ void store_pairs(
    Cell* outputs, const PairSums& sum, int first, int g, int q, float scale)
{
    constexpr int ACROSS = OUT_W / 2;   // pairs in a row
    constexpr int PAIRS = OUT_H / 2 * ACROSS;

    // A lane has the pairs 2 q and 2 q + 1 of the tile. Lanes with q = 0 and 1 begin with the even
    // one, the others with the odd one: then the lanes of a request meet different banks.
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        const int odd = (turn + q / 2) % 2;
        const int pair = first + 2 * q + odd;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const int h = pair / ACROSS * 2 + row;
            const int w = pair % ACROSS * 2;
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                // Register 2 half + odd belongs to map g + 8 half and to the even or odd pair.
                const float left = odd ? sum[row][0][2 * half + 1] : sum[row][0][2 * half];
                const float right = odd ? sum[row][1][2 * half + 1] : sum[row][1][2 * half];
                if (pair < PAIRS) {
                    Cell* to = outputs + ((g + 8 * half) * OUT_H + h) * OUT_W + w;
                    store_outputs(to, make_float2(left * scale, right * scale));
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Convolutions as products: a column of B serves a quad of outputs
//
// For one channel and few maps. A column of B is the window of 2 x 2 outputs: 8 cells of K + 1
// rows, from an even row and column on. The 16 rows of A are 4 maps, each shifted by no or one row
// and by no or one column.

// Adds the products to the sums of QUADS quads, which lie below each other. A step takes two rows
// of a window; two rows of cells serve the windows of several quads, in different steps. `cells` is
// the lane's first Pair of the first window.
template <int STEPS, int ROW, int PART, int QUADS>
__device__ __forceinline__ void multiply_quads(
    Accumulator (&sum)[QUADS], const uint4 (&weights)[STEPS][PARTS], const Pair* cells)
{
    #pragma unroll
    for (int rows = 0; rows < STEPS + QUADS - 1; ++rows) {
        #pragma unroll
        for (int product = 0; product < PRODUCTS; ++product) {
            const Pair* low = cells + rows * 2 * ROW + cell_part(product) * PART;
            #pragma unroll
            for (int quad = 0; quad < QUADS; ++quad) {
                const int step = rows - quad;
                if (0 <= step && step < STEPS) {
                    multiply(sum[quad], weights[step][weight_part(product)], low[0], low[ROW]);
                }
            }
        }
    }
}

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
