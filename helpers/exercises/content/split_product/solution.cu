// %%kernel split_product
#include <cuda_fp16.h>

typedef unsigned Pair;   // two halves in one register

// hi: both numbers rounded to half. lo: what this rounding took off them, rounded to half.
__device__ void split(Pair& hi, Pair& lo, float first, float second)
{
    const __half2 rounded = __floats2half2_rn(first, second);
    //> Gap 1: make the __half2 `rest` of what rounding took off. __half22float2(rounded) gives a
    //> float2, whose members are x and y.
    //= const __half2 rest = __floats2half2_rn(0.0f, 0.0f);
    const float2 kept = __half22float2(rounded);
    const __half2 rest = __floats2half2_rn(first - kept.x, second - kept.y);
    //<
    hi = *reinterpret_cast<const Pair*>(&rounded);
    lo = *reinterpret_cast<const Pair*>(&rest);
}

// sum += a b by the whole warp.
__device__ void multiply(float (&sum)[4], const Pair (&a)[4], const Pair (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void split_product(float* D, const float* A, const float* B, int steps)
{
    const int group = threadIdx.x / 4;
    const int two = threadIdx.x % 4 * 2;
    const int depth = 16 * steps;   // columns of A, rows of B
    B += blockIdx.x * depth * 8;    // a block makes one product of a batch
    D += blockIdx.x * 16 * 8;

    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        Pair a_hi[4], a_lo[4], b_hi[2], b_lo[2];
        for (int r = 0; r < 4; ++r) {
            const float* cell = A + (group + r % 2 * 8) * depth + 16 * step + two + r / 2 * 8;
            split(a_hi[r], a_lo[r], cell[0], cell[1]);
        }
        for (int r = 0; r < 2; ++r) {
            const float* cell = B + 8 * (16 * step + two + r * 8) + group;
            split(b_hi[r], b_lo[r], cell[0], cell[8]);
        }
        //> Gap 2: add the three products to sum. The small ones come first.
        multiply(sum, a_lo, b_hi);
        multiply(sum, a_hi, b_lo);
        multiply(sum, a_hi, b_hi);
        //<
    }
    for (int i = 0; i < 4; ++i) {
        D[8 * (group + i / 2 * 8) + two + i % 2] = sum[i];
    }
}
