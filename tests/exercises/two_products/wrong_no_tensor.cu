// %%kernel two_products
#include <cuda_fp16.h>

__global__ void two_products(float* D, const __half* A, const __half* B)
{
    __shared__ float left[16 * 32], right[32 * 8];
    for (int i = threadIdx.x; i < 16 * 32; i += 32) left[i] = __half2float(A[i]);
    for (int i = threadIdx.x; i < 32 * 8; i += 32) right[i] = __half2float(B[i]);
    __syncwarp();
    for (int i = threadIdx.x; i < 128; i += 32) {
        float sum = 0.0f;
        for (int k = 0; k < 32; ++k) sum += left[i / 8 * 32 + k] * right[8 * k + i % 8];
        D[i] = sum;
    }
}
