// conv2d_half2.cu -- convolution layer, two output maps in each multiply-add of half2
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
// Idea       __hfma2 makes two multiply-adds of half in one instruction: the same cell times the
//            weights of two output maps. A chain of such sums loses digits as it grows, so a row of
//            the filter is summed in half, and rows in float32. As in conv2d_register, a thread
//            computes a row of PATCH_WIDTH outputs of MAPS maps.
// Arrays     x: half, shape (B, C, H, W), by to_half; filter: half, shape (ceil(M / MAPS), C, K, K,
//            MAPS), spare maps 0, aligned to 4 bytes; y: float32, shape (B, M, out_h, out_w), out_h
//            = H - K + 1 and out_w likewise. They must not overlap.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise; X = blockDim.x * PATCH_WIDTH;
//            grid = (ceil(out_w / X) * ceil(out_h / blockDim.y), ceil(M / MAPS), B)
// Sizes      K <= H, W; K <= 15; MAPS even, M need not be a multiple of it.
// Memory     no shared, no constant (as conv2d_register: its header says why).
// Constants  FILTER_WIDTH = K, PATCH_WIDTH, MAPS, CHAIN (1: a row of the filter is summed in half,
//            0: all of it is; helpers.problems.precision has the bounds of both) by -D (defaults
//            below).
// Reference  helpers.reference.conv2d of the rounded arrays

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
#define MAP_PAIRS (MAPS / 2)
#define CELLS (PATCH_WIDTH + FILTER_WIDTH - 1)

extern "C" __global__ void conv2d_half2(
    float* y, const __half* __restrict__ x, const __half2* __restrict__ filter,
    int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1;
    const int out_w = W - FILTER_WIDTH + 1;
    const unsigned tile_width = blockDim.x * PATCH_WIDTH;
    const int tiles_across = (out_w + tile_width - 1) / tile_width;
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    // The patch's first column and map.
    const int w = (blockIdx.x % tiles_across * blockDim.x + threadIdx.x) * PATCH_WIDTH;
    const int first = blockIdx.y * MAPS;
    const int b = blockIdx.z;
    if (h >= out_h || w >= out_w) return;   // no barrier below

    // Sums in half, of two maps each: the low half is the even map, the high half the odd one.
    const __half2 zero = __float2half2_rn(0.0f);
    __half2 half_sum[MAP_PAIRS][PATCH_WIDTH];
    float2 sum[MAP_PAIRS][PATCH_WIDTH] = {};
    for (int m = 0; m < MAP_PAIRS; ++m) {
        for (int o = 0; o < PATCH_WIDTH; ++o) {
            half_sum[m][o] = zero;
        }
    }

    for (int c = 0; c < C; ++c) {
        for (int p = 0; p < FILTER_WIDTH; ++p) {
            // Load the cells of one row. Each stands in both halves, for two maps.
            const __half* row = x + (((size_t)b * C + c) * H + h + p) * W + w;
            __half2 cell[CELLS];
            #pragma unroll
            for (int i = 0; i < CELLS; ++i) {
                cell[i] = w + i < W ? __half2half2(row[i]) : zero;
            }

            // Compute.
            const __half2* weights =
                filter + ((blockIdx.y * C + c) * FILTER_WIDTH + p) * FILTER_WIDTH * MAP_PAIRS;
            #pragma unroll
            for (int m = 0; m < MAP_PAIRS; ++m) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    // Of maps first + 2 m and first + 2 m + 1.
                    const __half2 weight = weights[q * MAP_PAIRS + m];
                    for (int o = 0; o < PATCH_WIDTH; ++o) {
                        half_sum[m][o] = __hfma2(cell[o + q], weight, half_sum[m][o]);
                    }
                }

                // A chain ends with the row of the filter, or with its last row: add its sum in
                // float32.
                const bool chain_ends = CHAIN || (c == C - 1 && p == FILTER_WIDTH - 1);
                if (chain_ends) {
                    for (int o = 0; o < PATCH_WIDTH; ++o) {
                        const float2 row_sum = __half22float2(half_sum[m][o]);
                        sum[m][o].x += row_sum.x;
                        sum[m][o].y += row_sum.y;
                        half_sum[m][o] = zero;
                    }
                }
            }
        }
    }

    // Store.
    for (int m = 0; m < MAPS; ++m) {
        for (int o = 0; o < PATCH_WIDTH; ++o) {
            if (first + m < M && w + o < out_w) {
                const float2 two = sum[m / 2][o];
                const size_t row = (((size_t)b * M + first + m) * out_h + h) * out_w;
                y[row + w + o] = m % 2 ? two.y : two.x;
            }
        }
    }
}
