// mma.cuh -- what the kernels on tensor cores share: pairs of halves, and the product of fragments
//
// Words, as in NVIDIA's PTX manual:
//   fragment      one lane's registers of a matrix A or B; the 32 lanes of a warp hold it together
//   accumulator   one lane's registers of the matrix of sums
//
// A kernel sets these before it includes this file, by -D or by its own defaults:
//   PARTS = 1     A cell or a weight is rounded to half.
//   PARTS = 2     A cell or a weight is the sum of two halves: the number rounded to half, and the
//                 residual, rounded to half. Both have 22 significant bits (FP32: 24), if the
//                 largest numbers lie from 1/8 to 65,504; below, bits are lost; above, all is NaN.
//   HALF_IO = 1   x and y hold halves; 0: float32.
//
// It needs compute capability 8.0, for its products.
#pragma once
#include <cuda_fp16.h>

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
