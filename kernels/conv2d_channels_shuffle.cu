// conv2d_channels_shuffle.cu -- convolution layer, channels split over lanes, summed by shuffles
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       CHANNEL_LANES lanes of one warp share an output, each with every CHANNEL_LANES-th
//            channel, and hand their sums over by registers: log2(CHANNEL_LANES) shuffles, no
//            shared memory, no barrier. A warp has 32 lanes, so more lanes for channels leave fewer
//            for neighbouring outputs, and channels lie H * W cells apart: loads are the less
//            coalesced, the more lanes share an output.
// Arrays     x: float32, shape (B, C, H, W); filter: (M, C, K, K); y: (B, M, out_h, out_w) with
//            out_h = H - K + 1, out_w = W - K + 1. y must not overlap the others.
// Launch     block = (32 / CHANNEL_LANES, CHANNEL_LANES, TILE_ROWS): warp z computes row z of a
//            tile that is 32 / CHANNEL_LANES columns wide;
//            grid = (ceil(out_w / (32 / CHANNEL_LANES)) * ceil(out_h / TILE_ROWS), M, B)
// Sizes      any sizes with K <= H and K <= W; M, B <= 65,535. CHANNEL_LANES is
//            1, 2, 4, 8, 16 or 32; TILE_ROWS <= 32.
// Memory     shared: none. constant: none.
// Constants  CHANNEL_LANES, TILE_ROWS by -D (defaults below).
// Reference  helpers.reference.conv2d

#ifndef CHANNEL_LANES
#define CHANNEL_LANES 4
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 8
#endif
#define COLUMNS (32 / CHANNEL_LANES)
#if 32 % CHANNEL_LANES
#error "conv2d_channels_shuffle: CHANNEL_LANES must divide the 32 lanes of a warp"
#endif

extern "C" __global__ void conv2d_channels_shuffle(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles = (out_w + COLUMNS - 1) / COLUMNS;   // along the columns
    const int w = blockIdx.x % tiles * COLUMNS + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_ROWS + threadIdx.z;
    const int m = blockIdx.y;
    const int b = blockIdx.z;
    const bool inside = h < out_h && w < out_w;

    // Compute. A lane without an output or without a channel adds nothing: the shuffles below want
    // all 32. The offset of an image takes 64 bits.
    const float* image = x + (long long)b * C * H * W;
    float sum = 0.0f;
    for (int c = threadIdx.y; inside && c < C; c += CHANNEL_LANES) {
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            }
        }
    }

    // Reduce. The lane number is threadIdx.y * COLUMNS + threadIdx.x: the same output, `half`
    // channels on, is half * COLUMNS lanes on. Nobody uses what the lanes of the upper half
    // receive.
    #pragma unroll
    for (int half = CHANNEL_LANES / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, half * COLUMNS);
    }

    // Store: the first channel lane of each output has the whole sum.
    if (inside && threadIdx.y == 0) {
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
