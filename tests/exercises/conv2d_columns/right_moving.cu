// %%kernel conv2d_columns
#include <cuda_fp16.h>
__global__ void conv2d_columns(float* y, const __half* x, const __half* filter, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 2 * (blockIdx.x * blockDim.x + threadIdx.x), h = blockIdx.y * blockDim.y + threadIdx.y;
    if (h >= out_h || w >= out_w) return;
    float2 sum = make_float2(0, 0);
    for (int p = 0; p < 7; ++p) {
        const __half* row = x + (h + p) * W + w;
        __half left = row[0];
        __half2 part = __float2half2_rn(0.0f);
        for (int q = 0; q < 7; ++q) {
            const __half right = w + q + 1 < W ? row[q + 1] : __float2half(0.0f);
            part = __hfma2(__half2half2(filter[(m * 7 + p) * 7 + q]), __halves2half2(left, right), part);
            left = right;
        }
        const float2 both = __half22float2(part);
        sum.x += both.x;
        sum.y += both.y;
    }
    y[(m * out_h + h) * out_w + w] = sum.x;
    if (w + 1 < out_w) y[(m * out_h + h) * out_w + w + 1] = sum.y;
}
