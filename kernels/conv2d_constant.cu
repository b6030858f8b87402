// conv2d_constant.cu -- convolution layer, one thread per output, the filter in constant memory
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
//            (cross-correlation); out_h = H - K + 1, out_w = W - K + 1. y must not alias x.
// Idea       All lanes of a warp make outputs of one map, so they want the same weight at the same
//            time: constant memory answers with one broadcast, and every global load left is one of
//            x.
// Arrays     x: float32, (B, C, H, W); y: (B, M, out_h, out_w); filter: (M, C, K, K).
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_w / TILE_WIDTH) * ceil(out_h / TILE_WIDTH), M, B)
// Sizes      any C, H, W; 1 <= K <= H, W; M, B <= 65,535; C * H * W < 2^31.
//            The last tiles may be partial.
// Memory     constant: FILTER_WORDS * 4 bytes in `filter`, at most 65,536, to be filled before the
//            launch. No shared.
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

extern "C" __global__ void conv2d_constant(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;   // tiles along columns
    const int h = blockIdx.x / across * TILE_WIDTH + threadIdx.y;
    const int w = blockIdx.x % across * TILE_WIDTH + threadIdx.x;
    const int m = blockIdx.y;
    const int b = blockIdx.z;

    if (h < out_h && w < out_w) {
        const float* image = x + (size_t)b * C * H * W;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    // Nothing in the filter's index depends on threadIdx: one broadcast.
                    sum += image[(c * H + h + p) * W + w + q]
                        * filter[((m * C + c) * K + p) * K + q];
                }
            }
        }
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
