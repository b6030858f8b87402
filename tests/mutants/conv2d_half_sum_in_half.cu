// conv2d_half_sum_in_half.cu -- WRONG ON PURPOSE: the sum is kept in half
//
// Mutant of  conv2d_half (lab 18)
// Wrong      every addition is rounded to 11 bits; float32 is only what the result is stored as.
// Message    check: precision

#include <cuda_fp16.h>

extern "C" __global__ void conv2d_half_sum_in_half(float* y, const __half* x, const __half* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;   // lanes lie side by side in a row
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        const __half* image = x + (long long)b * C * H * W;
        const __half* weights = filter + m * C * K * K;
        __half sum = __float2half(0.0f);
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    const __half cell = image[(c * H + h + p) * W + w + q], tap = weights[(c * K + p) * K + q];
                    sum = __hfma(cell, tap, sum);
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = __half2float(sum);
    }
}
