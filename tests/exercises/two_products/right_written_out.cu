// %%kernel two_products
#include <cuda_fp16.h>

__device__ unsigned column_of(const __half* B, int row)
{
    const __half2 both = __halves2half2(B[8 * row], B[8 * row + 8]);
    return *reinterpret_cast<const unsigned*>(&both);
}

__global__ void two_products(float* D, const __half* A, const __half* B)
{
    const int group = threadIdx.x >> 2, place = threadIdx.x & 3;
    const unsigned* upper = reinterpret_cast<const unsigned*>(A) + 16 * group + place;
    const unsigned* lower = upper + 16 * 8;
    const __half* column = B + group;
    float4 first, both;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(first.x), "=f"(first.y), "=f"(first.z), "=f"(first.w)
        : "r"(upper[0]), "r"(lower[0]), "r"(upper[4]), "r"(lower[4]),
          "r"(column_of(column, 2 * place)), "r"(column_of(column, 2 * place + 8)), "f"(0.0f));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(both.x), "=f"(both.y), "=f"(both.z), "=f"(both.w)
        : "r"(upper[8]), "r"(lower[8]), "r"(upper[12]), "r"(lower[12]),
          "r"(column_of(column, 2 * place + 16)), "r"(column_of(column, 2 * place + 24)),
          "f"(first.x), "f"(first.y), "f"(first.z), "f"(first.w));
    float2* rows = reinterpret_cast<float2*>(D);
    rows[threadIdx.x] = make_float2(both.x, both.y);
    rows[threadIdx.x + 32] = make_float2(both.z, both.w);
}
