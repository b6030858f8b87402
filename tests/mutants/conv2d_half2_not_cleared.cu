// conv2d_half2_not_cleared.cu -- WRONG ON PURPOSE: the sum in half is not cleared after it was added up
//
// Mutant of  conv2d_half2 (lab 18)
// Wrong      each row of the filter is added once more for every row behind it.
// Message    check: scattered

#include <cuda_fp16.h>

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef PATCH_WIDTH
#define PATCH_WIDTH 4
#endif
#ifndef MAPS
#define MAPS 4
#endif
#ifndef CHAIN
#define CHAIN 1
#endif
#define CELLS (PATCH_WIDTH + FILTER_WIDTH - 1)

extern "C" __global__ void conv2d_half2_not_cleared(
    float* y, const __half* __restrict__ x, const __half2* __restrict__ filter, int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + blockDim.x * PATCH_WIDTH - 1) / (blockDim.x * PATCH_WIDTH);
    const int h = blockIdx.x / across * blockDim.y + threadIdx.y;
    const int w = (blockIdx.x % across * blockDim.x + threadIdx.x) * PATCH_WIDTH;    // the patch's first column
    const int first = blockIdx.y * MAPS, b = blockIdx.z;   // the patch's first map
    if (h >= out_h || w >= out_w) return;   // no barrier below
    const __half2 zero = __float2half2_rn(0.0f);
    __half2 part[MAPS / 2][PATCH_WIDTH];    // in half: low is an even map, high the odd one behind it
    float2 sum[MAPS / 2][PATCH_WIDTH] = {};
    for (int i = 0; i < MAPS / 2 * PATCH_WIDTH; ++i) part[i / PATCH_WIDTH][i % PATCH_WIDTH] = zero;

    for (int c = 0; c < C; ++c) {
        for (int p = 0; p < FILTER_WIDTH; ++p) {
            const __half* row = x + (((size_t)b * C + c) * H + h + p) * W + w;
            __half2 cell[CELLS];            // each twice, for two maps
            #pragma unroll
            for (int i = 0; i < CELLS; ++i) cell[i] = w + i < W ? __half2half2(row[i]) : zero;
            const __half2* weights = filter + ((blockIdx.y * C + c) * FILTER_WIDTH + p) * FILTER_WIDTH * (MAPS / 2);
            #pragma unroll
            for (int m = 0; m < MAPS / 2; ++m) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    const __half2 two = weights[q * (MAPS / 2) + m];   // of the maps first + 2 m and first + 2 m + 1
                    for (int o = 0; o < PATCH_WIDTH; ++o) part[m][o] = __hfma2(cell[o + q], two, part[m][o]);
                }
                const bool flush = CHAIN || (c == C - 1 && p == FILTER_WIDTH - 1);
                for (int o = 0; o < PATCH_WIDTH && flush; ++o) {
                    const float2 two = __half22float2(part[m][o]);
                    sum[m][o].x += two.x, sum[m][o].y += two.y;
                }
            }
        }
    }
    for (int i = 0; i < MAPS * PATCH_WIDTH; ++i) {   // Store
        const int m = i / PATCH_WIDTH, o = i % PATCH_WIDTH;
        const float2 two = sum[m / 2][o];
        if (first + m < M && w + o < out_w) y[(((size_t)b * M + first + m) * out_h + h) * out_w + w + o] = m % 2 ? two.y : two.x;
    }
}
