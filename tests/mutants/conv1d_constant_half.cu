// conv1d_constant_half.cu -- WRONG ON PURPOSE: half precision where single was promised
//
// Mutant of  conv1d_constant (lab 03)
// Wrong      cells and weights are rounded to the 11 significant bits of FP16 before they are multiplied.
// Message    check: precision

#include <cuda_fp16.h>

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

// To half precision and back: 11 significant bits are left.
__device__ float rounded(float x)
{
    return __half2float(__float2half(x));
}

extern "C" __global__ void conv1d_constant_half(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) {
                sum += rounded(N[cell]) * rounded(filter[j]);
            }
        }
        P[i] = sum;
    }
}
