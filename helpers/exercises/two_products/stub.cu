// %%kernel two_products
#include <cuda_fp16.h>

__global__ void two_products(float* D, const __half* A, const __half* B)
{
    // One warp: D = A B, with A of 16 x 32 halves, B of 32 x 8 and D of 16 x 8 floats.
}
