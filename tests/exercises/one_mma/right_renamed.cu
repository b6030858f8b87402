// %%kernel one_mma
#include <cuda_fp16.h>

// A sum does not ask for the order of its terms: columns 4 * place to 4 * place + 3 of A, and the
// same rows of B, take the places of two pairs.
__global__ void one_mma(float* D, const __half* A, const __half* B)
{
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    const uint2 top = *reinterpret_cast<const uint2*>(A + 16 * group + 4 * place);
    const uint2 bottom = *reinterpret_cast<const uint2*>(A + 16 * (group + 8) + 4 * place);
    const __half* column = B + 32 * place + group;
    const __half2 first = __halves2half2(column[0], column[8]);
    const __half2 second = __halves2half2(column[16], column[24]);
    float d[4];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(top.x), "r"(bottom.x), "r"(top.y), "r"(bottom.y),
          "r"(*reinterpret_cast<const unsigned*>(&first)),
          "r"(*reinterpret_cast<const unsigned*>(&second)), "f"(0.0f));
    for (int k = 0; k < 4; ++k) {
        D[8 * (group + k / 2 * 8) + 2 * place + k % 2] = d[k];
    }
}
