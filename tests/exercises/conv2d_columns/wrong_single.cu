// %%kernel conv2d_columns
#include <cuda_fp16.h>
__global__ void conv2d_columns(float* y, const __half* x, const __half* filter, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 2 * (blockIdx.x * blockDim.x + threadIdx.x), h = blockIdx.y * blockDim.y + threadIdx.y;
    if (h >= out_h || w >= out_w) return;
    float2 sum = make_float2(0, 0);
    for (int p = 0; p < 7; ++p) {
        __half cell[8];
        for (int i = 0; i < 8; ++i) cell[i] = w + i < W ? x[(h + p) * W + w + i] : __float2half(0.0f);
        const __half* tap = filter + (m * 7 + p) * 7;
        __half low = __float2half(0.0f), high = low;
        for (int q = 0; q < 7; ++q) {
            low = __hfma(cell[q], tap[q], low);
            high = __hfma(cell[q + 1], tap[q], high);
        }
        sum.x += __half2float(low);
        sum.y += __half2float(high);
    }
    y[(m * out_h + h) * out_w + w] = sum.x;
    if (w + 1 < out_w) y[(m * out_h + h) * out_w + w + 1] = sum.y;
}
