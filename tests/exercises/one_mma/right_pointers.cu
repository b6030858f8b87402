// %%kernel one_mma
#include <cuda_fp16.h>

__global__ void one_mma(float* D, const __half* A, const __half* B)
{
    const int place = threadIdx.x & 3, group = threadIdx.x >> 2;
    const unsigned* rows = reinterpret_cast<const unsigned*>(A) + 8 * group + place;
    const __half* column = B + 16 * place + group;
    const unsigned a0 = rows[0], a1 = rows[64], a2 = rows[4], a3 = rows[68];
    const __half2 b0 = __halves2half2(column[0], column[8]);
    const __half2 b1 = __halves2half2(column[64], column[72]);
    float2 top, bottom;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(top.x), "=f"(top.y), "=f"(bottom.x), "=f"(bottom.y)
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3),
          "r"(*reinterpret_cast<const unsigned*>(&b0)),
          "r"(*reinterpret_cast<const unsigned*>(&b1)), "f"(0.0f));
    reinterpret_cast<float2*>(D)[threadIdx.x] = top;
    reinterpret_cast<float2*>(D)[threadIdx.x + 32] = bottom;
}
