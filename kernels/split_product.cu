// split_product.cu -- products of FP32 matrices on tensor cores that multiply halves
//
// Computes   D[k] = A B[k], products of one matrix A with a batch of others
// Idea       A half has 11 significant bits, a float32 has 24. The sum of two halves, x_hi + x_lo,
//            has 23. So one product of float32 numbers is made of three products of halves:
//            a_lo b_hi + a_hi b_lo + a_hi b_hi. The fourth, a_lo b_lo, is at most 2^-22 of the
//            product, and would gain less than a bit.
//            A tensor core cuts the digits that do not fit into its sum, and does not round them.
//            Cuts do not cancel each other. So its sums are kept short: after SHORT steps they
//            are added to a total by the ordinary FP32 units, which round, and start again at 0.
// Arrays     D: float32, (batch, 16, 8). A: float32, (16, 16 steps), aligned to 8 bytes. B:
//            float32, (batch, 16 steps, 8). None may alias D.
// Launch     block = (32, 1, 1); grid = (batch, 1): a warp makes one product
// Sizes      steps >= 1, 128 batch steps < 2^31. Numbers up to 65,504 (the largest half); residuals
//            below 2^-24 are lost. Compute capability 8.0 and later.
// Memory     none but registers.
// Constants  PRODUCTS: 3 as above, or 1 for a_hi b_hi alone. SHORT: steps in a short sum; 0 leaves
//            the whole sum to the tensor core. By -D.
// Reference  helpers.problems.tensor_product.reference

#include <cuda_fp16.h>

#ifndef PRODUCTS
#define PRODUCTS 3
#endif
#ifndef SHORT
#define SHORT 4
#endif
#if PRODUCTS != 1 && PRODUCTS != 3
#error "split_product: PRODUCTS must be 1 or 3"
#endif

typedef unsigned Pair;   // two halves in one register

// Splits two numbers: hi receives both rounded to half, lo what this rounding left of them.
__device__ void split(Pair& hi, Pair& lo, float first, float second)
{
    const half2 rounded = __floats2half2_rn(first, second);
    const float2 kept = __half22float2(rounded);
    const half2 residual = __floats2half2_rn(first - kept.x, second - kept.y);
    hi = *reinterpret_cast<const Pair*>(&rounded);
    lo = *reinterpret_cast<const Pair*>(&residual);
}

// sum += a b by the whole warp. mma_one_warp shows which lane holds what.
__device__ void multiply(float (&sum)[4], const Pair (&a)[4], const Pair (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void split_product(float* D, const float* A, const float* B, int steps)
{
    const int group = threadIdx.x / 4;      // [0, 8)
    const int two = threadIdx.x % 4 * 2;    // 0, 2, 4 or 6
    const int depth = 16 * steps;           // columns of A, rows of B
    B += blockIdx.x * depth * 8;
    D += blockIdx.x * 16 * 8;

    float total[4] = {};
    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        // Load and split this step's fragments.
        Pair a_hi[4], a_lo[4], b_hi[2], b_lo[2];
        for (int r = 0; r < 4; ++r) {
            const int row = group + r % 2 * 8;
            const int column = 16 * step + two + r / 2 * 8;
            const float2 cells = *reinterpret_cast<const float2*>(A + row * depth + column);
            split(a_hi[r], a_lo[r], cells.x, cells.y);
        }
        for (int r = 0; r < 2; ++r) {
            const int row = 16 * step + two + r * 8;
            split(b_hi[r], b_lo[r], B[8 * row + group], B[8 * (row + 1) + group]);
        }

        // Multiply, the small products first.
#if PRODUCTS == 3
        multiply(sum, a_lo, b_hi);
        multiply(sum, a_hi, b_lo);
#endif
        multiply(sum, a_hi, b_hi);

        // Take the short sum back.
#if SHORT
        if (step % SHORT == SHORT - 1) {
            for (int i = 0; i < 4; ++i) {
                total[i] += sum[i];
                sum[i] = 0.0f;
            }
        }
#endif
    }

    // Store. What the last, incomplete short sum holds belongs to the result, too.
    for (int i = 0; i < 4; ++i) {
        D[8 * (group + i / 2 * 8) + two + i % 2] = total[i] + sum[i];
    }
}
