// %%kernel split_sum
#include <cuda_fp16.h>

// Two numbers, rounded to halves, in one register, and what rounding took off them, in another one.
__device__ void split(unsigned& hi, unsigned& lo, float first, float second)
{
    const __half2 both = __floats2half2_rn(first, second);
    const float2 kept = __half22float2(both);
    const __half2 rest = __floats2half2_rn(first - kept.x, second - kept.y);
    hi = *reinterpret_cast<const unsigned*>(&both);
    lo = *reinterpret_cast<const unsigned*>(&rest);
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
    //> Gap 1: a total for each of the lane's four sums.
    const int SHORT = 4;   // steps
    float total[4] = {};
    //<
    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        unsigned a_hi[4], a_lo[4], b_hi[2], b_lo[2];
        for (int r = 0; r < 4; ++r) {
            const float* cell = A + 16 * steps * (group + r % 2 * 8) + 16 * step + two + r / 2 * 8;
            split(a_hi[r], a_lo[r], cell[0], cell[1]);
        }
        for (int r = 0; r < 2; ++r) {
            const float* cell = B + 8 * (16 * step + two + r * 8) + group;
            split(b_hi[r], b_lo[r], cell[0], cell[8]);
        }
        multiply(sum, a_lo, b_hi);
        multiply(sum, a_hi, b_lo);
        multiply(sum, a_hi, b_hi);
        //> Gap 2: after some steps, the total takes the sum over, and the sum starts again at 0.
        if (step % SHORT == SHORT - 1) {
            for (int i = 0; i < 4; ++i) {
                total[i] += sum[i];
                sum[i] = 0.0f;
            }
        }
        //<
    }
    for (int i = 0; i < 4; ++i) {
        //> Gap 3: what belongs to the result?
        //= D[8 * (group + i / 2 * 8) + two + i % 2] = sum[i];
        D[8 * (group + i / 2 * 8) + two + i % 2] = total[i] + sum[i];
        //<
    }
}
