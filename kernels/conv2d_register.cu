// conv2d_register.cu -- convolution layer, each thread makes a patch of outputs in registers
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
//            (cross-correlation); out_h = H - K + 1, out_w = W - K + 1
// Idea       A row of PATCH_WIDTH + K - 1 cells, loaded once into registers, serves PATCH_WIDTH
//            neighbouring outputs, and each cell MAPS output maps: loads per multiply-add fall by
//            about MAPS * PATCH_WIDTH * K / (PATCH_WIDTH + K - 1).
// Arrays     x: float32, (B, C, H, W); filter: float32, (M, C, K, K); y: float32, (B, M, out_h,
//            out_w); must not alias.
// Launch     block = (any, any, 1), such as 16 x 16, each thread a patch: a block's tile has X =
//            blockDim.x * PATCH_WIDTH columns and blockDim.y rows;
//            grid = (ceil(out_w / X) * ceil(out_h / blockDim.y), ceil(M / MAPS), B)
// Sizes      any C, H, W; K <= H, W; M, B <= 65,535, M need not be a multiple of MAPS;
//            C * H * W < 2^31.
// Memory     registers: MAPS * PATCH_WIDTH sums of a thread. The filter is read from global memory,
//            that is from the L1 cache. Constant memory is far slower here (lab 112): nvcc loads
//            each weight through a uniform register for only PATCH_WIDTH multiply-adds, and warps
//            wait for misses.
// Constants  FILTER_WIDTH = K, PATCH_WIDTH, MAPS by -D (defaults below).
// Reference  helpers.reference.conv2d

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef PATCH_WIDTH
#define PATCH_WIDTH 4
#endif
#ifndef MAPS
#define MAPS 4
#endif
#define CELLS (PATCH_WIDTH + FILTER_WIDTH - 1)

extern "C" __global__ void conv2d_register(
    float* y, const float* __restrict__ x, const float* __restrict__ filter,
    int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1;
    const int out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + blockDim.x * PATCH_WIDTH - 1) / (blockDim.x * PATCH_WIDTH);
    const int h = blockIdx.x / across * blockDim.y + threadIdx.y;
    // The patch begins at this column and at this output map.
    const int w = (blockIdx.x % across * blockDim.x + threadIdx.x) * PATCH_WIDTH;
    const int first = blockIdx.y * MAPS;
    const int b = blockIdx.z;
    if (h >= out_h || w >= out_w) {   // no barrier below
        return;
    }
    float sum[MAPS][PATCH_WIDTH] = {};

    for (int c = 0; c < C; ++c) {
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int p = 0; p < FILTER_WIDTH; ++p) {
            float cell[CELLS];
            #pragma unroll
            for (int i = 0; i < CELLS; ++i) {
                cell[i] = w + i < W ? channel[(h + p) * W + w + i] : 0.0f;
            }
            // Unrolled, every index into cell and sum is a constant: only then are they registers.
            #pragma unroll
            for (int m = 0; m < MAPS; ++m) {
                // Past the last map: its sum again, which is not stored.
                const int map = min(first + m, M - 1);
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    const float weight =
                        filter[((map * C + c) * FILTER_WIDTH + p) * FILTER_WIDTH + q];
                    for (int o = 0; o < PATCH_WIDTH; ++o) {
                        sum[m][o] += cell[o + q] * weight;
                    }
                }
            }
        }
    }
    for (int m = 0; m < MAPS; ++m) {
        for (int o = 0; o < PATCH_WIDTH; ++o) {
            if (first + m < M && w + o < out_w) {
                y[(((size_t)b * M + first + m) * out_h + h) * out_w + w + o] = sum[m][o];
            }
        }
    }
}
