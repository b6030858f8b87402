// %%kernel split_sum
#include <cuda_fp16.h>

__device__ unsigned both(__half first, __half second)
{
    return __half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

// sum += a b by the whole warp.
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The small products have a sum of their own: what is cut off there is 2^-11 of what is cut off the
// large one. So only the large one needs to be short.
__global__ void split_sum(float* D, const float* A, const float* B, int steps)
{
    const int group = threadIdx.x / 4;
    const int two = threadIdx.x % 4 * 2;
    float total[4] = {};
    float small[4] = {};
    float large[4] = {};
    for (int step = 0; step < steps; ++step) {
        unsigned a[4], a_rest[4], b[2], b_rest[2];
        for (int r = 0; r < 4; ++r) {
            const float* cell = A + 16 * steps * (group + r % 2 * 8) + 16 * step + two + r / 2 * 8;
            const __half x = __float2half(cell[0]);
            const __half y = __float2half(cell[1]);
            a[r] = both(x, y);
            a_rest[r] = both(__float2half(cell[0] - __half2float(x)),
                             __float2half(cell[1] - __half2float(y)));
        }
        for (int r = 0; r < 2; ++r) {
            const float* cell = B + 8 * (16 * step + two + r * 8) + group;
            const __half x = __float2half(cell[0]);
            const __half y = __float2half(cell[8]);
            b[r] = both(x, y);
            b_rest[r] = both(__float2half(cell[0] - __half2float(x)),
                             __float2half(cell[8] - __half2float(y)));
        }
        multiply(small, a_rest, b);
        multiply(small, a, b_rest);
        multiply(large, a, b);
        if (step % 8 == 7 || step == steps - 1) {
            for (int i = 0; i < 4; ++i) {
                total[i] += large[i];
                large[i] = 0.0f;
            }
        }
    }
    for (int i = 0; i < 4; ++i) {
        D[8 * (group + i / 2 * 8) + two + i % 2] = total[i] + small[i];
    }
}
