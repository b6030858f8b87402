// conv2d_tiled_maps.cu -- convolution layer, a shared tile that serves several output maps
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
// Idea       All output maps read the same input. A thread computes its output of MAPS maps at
//            once: one tile load, one pair of barriers and one shared load for each cell serve MAPS
//            sums, which stay in registers.
// Arrays     x: float32, (B, C, H, W); y: (B, M, out_h, out_w); filter: (M, C, K, K).
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_w / TILE_WIDTH) * ceil(out_h / TILE_WIDTH), ceil(M / MAPS), B)
// Sizes      any C, H, W; 1 <= K <= H, W; M, B <= 65,535, M need not be a multiple of MAPS; C * H *
//            W < 2^31. out_h = H - K + 1, out_w = W - K + 1. y must not alias x.
// Memory     shared: (TILE_WIDTH + K - 1)^2 * 4 bytes, dynamic. constant: FILTER_WORDS * 4 bytes in
//            `filter`, at most 65,536.
// Constants  FILTER_WORDS = M * C * K * K, TILE_WIDTH, MAPS by -D (defaults below: 4 maps of 1
//            channel, K = 7).
// Reference  helpers.reference.conv2d

#ifndef FILTER_WORDS
#define FILTER_WORDS 196
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef MAPS
#define MAPS 4
#endif

__constant__ float filter[FILTER_WORDS];   // shape (M, C, K, K)

extern "C" __global__ void conv2d_tiled_maps(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    extern __shared__ float tile[];         // span rows of span cells
    const int span = TILE_WIDTH + K - 1;    // the tile's cells and its halo, to the right and below
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles_across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;
    const int top = blockIdx.x / tiles_across * TILE_WIDTH;
    const int left = blockIdx.x % tiles_across * TILE_WIDTH;
    const int h = top + threadIdx.y;
    const int w = left + threadIdx.x;
    const int b = blockIdx.z;
    // Maps first .. first + MAPS - 1. threadIdx.z is always 0, but nvcc does not know that, and so
    // it loads each weight with LDC. Without this term nvcc 13.0 sees that all lanes want one
    // address, and for some values of MAPS it takes uniform registers (ULDC) instead: lab 111 times
    // both.
    const int first = blockIdx.y * MAPS + threadIdx.z;
    float sum[MAPS] = {};

    for (int c = 0; c < C; ++c) {
        // Load, as in conv2d_tiled.
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int r = threadIdx.y; r < span && top + r < H; r += TILE_WIDTH) {
            for (int s = threadIdx.x; s < span && left + s < W; s += TILE_WIDTH) {
                tile[r * span + s] = channel[(top + r) * W + left + s];
            }
        }
        __syncthreads();   // outputs read cells that other threads loaded

        // Compute. A cell is read from the tile once, and multiplied by one weight of each map.
        if (h < out_h && w < out_w) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    const float cell = tile[(threadIdx.y + p) * span + threadIdx.x + q];
                    #pragma unroll
                    for (int o = 0; o < MAPS; ++o) {
                        // Past the last map: its sum again, which is not stored.
                        const int m = min(first + o, M - 1);
                        sum[o] += cell * filter[((m * C + c) * K + p) * K + q];
                    }
                }
            }
        }
        __syncthreads();   // the next channel overwrites the tile: not before all have read it
    }

    // Store.
    if (h < out_h && w < out_w) {
        #pragma unroll
        for (int o = 0; o < MAPS; ++o) {
            if (first + o < M) {
                y[(((size_t)b * M + first + o) * out_h + h) * out_w + w] = sum[o];
            }
        }
    }
}
