// conv2d_half_inside_truncated.cu -- WRONG ON PURPOSE: the conversion cuts digits off and does not round
//
// Mutant of  conv2d_half_inside (lab 18)
// Wrong      __float2half_rz rounds towards zero: errors are twice as large, and all of one sign.
// Message    check: precision

#include <cuda_fp16.h>

extern "C" __global__ void conv2d_half_inside_truncated(float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;   // lanes lie side by side in a row
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    const __half cell = __float2half_rz(image[(c * H + h + p) * W + w + q]);
                    const __half tap = __float2half_rz(weights[(c * K + p) * K + q]);
                    sum += __half2float(cell) * __half2float(tap);   // exact in float32: 22 significant bits
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
