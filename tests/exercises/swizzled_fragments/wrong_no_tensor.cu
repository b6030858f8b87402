// %%kernel swizzled_fragments
#include <cuda_fp16.h>

__global__ void swizzled_fragments(float* Y, const __half* A, const __half* X)
{
    for (int i = threadIdx.x; i < 16 * 64; i += 32) {
        float sum = 0;
        for (int k = 0; k < 64; ++k) {
            sum += __half2float(A[i / 64 * 64 + k]) * __half2float(X[k * 64 + i % 64]);
        }
        Y[i] = sum;
    }
}
