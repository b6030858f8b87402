// %%kernel conv2d_columns
#include <cuda_fp16.h>
__global__ void conv2d_columns(float* y, const __half* x, const __half* filter, int H, int W)
{
    const int out_h = H - 6;
    const int out_w = W - 6;
    const int m = blockIdx.z;
    const int w = 2 * (blockIdx.x * blockDim.x + threadIdx.x);   // the first of two columns
    const int h = blockIdx.y * blockDim.y + threadIdx.y;
    if (h >= out_h || w >= out_w) return;
    float2 sum = make_float2(0, 0);   // sum.x: the output in column w; sum.y: that in column w + 1

    // For each of the 7 rows: load 8 cells, add up a row of both outputs by __hfma2, add it to sum.

    y[(m * out_h + h) * out_w + w] = sum.x;
    if (w + 1 < out_w) y[(m * out_h + h) * out_w + w + 1] = sum.y;
}
