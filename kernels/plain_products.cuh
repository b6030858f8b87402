// plain_products.cuh -- products of warpgroups in plain code, in place of those of warpgroup.cuh
//
// Each lane reads the rows and columns of its own sums from shared memory, where the descriptors
// say, and multiplies them with its own units. Slow, and for every GPU and the simulator, which
// does not run wgmma. Nothing is made in the background, so that a missing wait is no fault here.
#pragma once
#include <cuda_fp16.h>

__device__ __forceinline__ void begin_products() {}
__device__ __forceinline__ void end_products() {}

template <int left>
__device__ __forceinline__ void wait_for_products()
{
    __syncwarp();
}

// Element k of row (or column) i of a matrix.
__device__ __forceinline__ float element(Descriptor matrix, int i, int k)
{
    const unsigned first = matrix & 16383;
    const unsigned other_half = matrix >> 16 & 16383;
    const unsigned next_eight = matrix >> 32 & 16383;
    const unsigned piece = first + other_half * (k / 8) + next_eight * (i / 8);
    unsigned short bits;
    asm volatile("ld.shared.u16 %0, [%1];"
                 : "=h"(bits) : "r"(piece * 16 + i % 8 * 16 + k % 8 * 2));
    return __half2float(__ushort_as_half(bits));
}

#define DEFINE_START_PRODUCT_FOR(COLUMNS)                                                          \
    __device__ void start_product(float (&sum)[128], Descriptor a, Descriptor b, int keep)         \
    {                                                                                              \
        const int lane = threadIdx.x % 32;                                                         \
        const int row = threadIdx.x % 128 / 32 * 16 + lane / 4;                                    \
        _Pragma("unroll") for (int i = 0; i < COLUMNS / 2; ++i) {                                  \
            const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;                                   \
            float total = keep ? sum[i] : 0.0f;                                                    \
            _Pragma("unroll 1") for (int k = 0; k < 16; ++k) {                                     \
                total += element(a, row + i / 2 % 2 * 8, k) * element(b, column, k);               \
            }                                                                                      \
            sum[i] = total;                                                                        \
        }                                                                                          \
    }
