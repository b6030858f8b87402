// %%kernel split_sum
#include <cuda_fp16.h>

// The float with its last 13 bits cut off is a half: rounded towards zero, so its rest is larger.
__device__ unsigned short half_of(float x)
{
    return __half_as_ushort(__float2half_rn(x));
}

__device__ float cut(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

__device__ float rest_of(float x)
{
    return x - cut(x);
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

__global__ void split_sum(float* D, const float* A, const float* B, int steps)
{
    const int group = threadIdx.x / 4;
    const int two = threadIdx.x % 4 * 2;
    float total[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int first = 0; first < steps; first += 4) {
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int step = first; step < min(first + 4, steps); ++step) {
            unsigned hi[4], lo[4], b_hi[2], b_lo[2];
            for (int r = 0; r < 4; ++r) {
                const float2 x = *reinterpret_cast<const float2*>(
                    A + 16 * steps * (group + r % 2 * 8) + 16 * step + two + r / 2 * 8);
                hi[r] = half_of(cut(x.x)) | (unsigned)half_of(cut(x.y)) << 16;
                lo[r] = half_of(rest_of(x.x)) | (unsigned)half_of(rest_of(x.y)) << 16;
            }
            for (int r = 0; r < 2; ++r) {
                const float x = B[8 * (16 * step + two + r * 8) + group];
                const float y = B[8 * (16 * step + two + r * 8 + 1) + group];
                b_hi[r] = half_of(cut(x)) | (unsigned)half_of(cut(y)) << 16;
                b_lo[r] = half_of(rest_of(x)) | (unsigned)half_of(rest_of(y)) << 16;
            }
            multiply(sum, hi, b_lo);
            multiply(sum, lo, b_hi);
            multiply(sum, hi, b_hi);
        }
        for (int i = 0; i < 4; ++i) {
            total[i] += sum[i];
        }
    }
    for (int i = 0; i < 4; ++i) {
        D[8 * (group + i / 2 * 8) + two + i % 2] = total[i];
    }
}
