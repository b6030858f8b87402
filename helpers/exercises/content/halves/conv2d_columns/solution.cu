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

    //> For each of the 7 rows: load 8 cells, add up a row of both outputs by __hfma2, add it to sum.
    for (int p = 0; p < 7; ++p) {
        __half cell[8];
        for (int i = 0; i < 8; ++i) cell[i] = w + i < W ? x[(h + p) * W + w + i] : __float2half(0.0f);
        const __half* tap = filter + (m * 7 + p) * 7;
        __half2 part = __float2half2_rn(0.0f);
        for (int q = 0; q < 7; ++q)
            part = __hfma2(__halves2half2(cell[q], cell[q + 1]), __half2half2(tap[q]), part);
        sum.x += __low2float(part);
        sum.y += __high2float(part);
    }
    //<

    y[(m * out_h + h) * out_w + w] = sum.x;
    if (w + 1 < out_w) y[(m * out_h + h) * out_w + w + 1] = sum.y;
}
