// conv2d_tiled.cu -- convolution layer, each channel's tile and halo in shared memory
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
//            (cross-correlation); out_h = H - K + 1, out_w = W - K + 1. y must not alias x.
// Idea       The block makes TILE_WIDTH x TILE_WIDTH outputs of one map. Of each channel it needs
//            K - 1 more rows and columns; it stages them once, and the K * K reads of each output
//            hit shared memory.
// Arrays     x: float32, (B, C, H, W); y: (B, M, out_h, out_w); filter: (M, C, K, K).
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_w / TILE_WIDTH) * ceil(out_h / TILE_WIDTH), M, B)
// Sizes      any C, H, W; 1 <= K <= H, W; M, B <= 65,535; C * H * W < 2^31.
//            The last tiles may be partial.
// Memory     shared: (TILE_WIDTH + K - 1)^2 * 4 bytes, dynamic.
//            constant: FILTER_WORDS * 4 bytes in `filter`, at most 65,536.
// Constants  FILTER_WORDS = M * C * K * K, TILE_WIDTH by -D (defaults below: 4 maps of 1 channel,
//            K = 7).
// Reference  helpers.reference.conv2d

#ifndef FILTER_WORDS
#define FILTER_WORDS 196
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__constant__ float filter[FILTER_WORDS];   // shape (M, C, K, K)

extern "C" __global__ void conv2d_tiled(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    extern __shared__ float tile[];         // span rows of span cells
    const int span = TILE_WIDTH + K - 1;    // the tile's cells and its halo, to the right and below
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;
    const int top = blockIdx.x / across * TILE_WIDTH;
    const int left = blockIdx.x % across * TILE_WIDTH;
    const int h = top + threadIdx.y;
    const int w = left + threadIdx.x;
    const int m = blockIdx.y;
    const int b = blockIdx.z;
    float sum = 0.0f;

    for (int c = 0; c < C; ++c) {
        // Load, in steps of a tile's size: the tile, the halo beside it, below it, and the corner.
        // A cell outside the image is wanted by no output, so it is left out.
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int r = threadIdx.y; r < span && top + r < H; r += TILE_WIDTH) {
            for (int s = threadIdx.x; s < span && left + s < W; s += TILE_WIDTH) {
                tile[r * span + s] = channel[(top + r) * W + left + s];
            }
        }
        __syncthreads();   // outputs read cells that other threads loaded

        // Compute. Threads without an output have loaded, and wait at the barriers; they only skip
        // the sum.
        if (h < out_h && w < out_w) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    sum += tile[(threadIdx.y + p) * span + threadIdx.x + q]
                        * filter[((m * C + c) * K + p) * K + q];
                }
            }
        }
        __syncthreads();   // the next channel overwrites the tile: not before all have read it
    }

    // Store.
    if (h < out_h && w < out_w) {
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
