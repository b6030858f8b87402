// conv2d_channels_atomics.cu -- convolution layer, one thread per output and channel, atomicAdd
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       Each channel of an output gets a thread of its own, in a block of its own: C times as
//            many threads, each with 1/C of the work. Their sums meet in y, in whatever order the
//            blocks happen to run: float addition depends on the order, so the last bits of y may
//            differ from run to run.
// Arrays     x: float32, shape (B, C, H, W); filter: (M, C, K, K); y: (B, M, out_h, out_w), zeros
//            before each launch; out_h = H - K + 1, out_w = W - K + 1. None may alias.
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_w / TILE_WIDTH) * ceil(out_h / TILE_WIDTH), M * C, B)
// Sizes      any sizes with K <= H and K <= W; M * C, B <= 65,535.
// Memory     shared: none. constant: none.
// Constants  TILE_WIDTH by -D (default below).
// Reference  helpers.reference.conv2d

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void conv2d_channels_atomics(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;   // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    // Blocks that are neighbours along y take the channels of one map.
    const int m = blockIdx.y / C;
    const int c = blockIdx.y % C;
    const int b = blockIdx.z;
    if (h >= out_h || w >= out_w) {   // no barrier below
        return;
    }

    // The offset of a channel takes 64 bits: a batch holds more cells than an int can count.
    const float* channel = x + ((long long)b * C + c) * H * W;
    float sum = 0.0f;   // of one channel
    for (int p = 0; p < K; ++p) {
        for (int q = 0; q < K; ++q) {
            sum += channel[(h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
        }
    }
    // y += sum would lose what other blocks add at the same time.
    atomicAdd(&y[(((long long)b * M + m) * out_h + h) * out_w + w], sum);
}
