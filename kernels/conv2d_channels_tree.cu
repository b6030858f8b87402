// conv2d_channels_tree.cu -- convolution layer, channels split over threads, summed by a tree
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       CHANNEL_THREADS threads share an output, each with every CHANNEL_THREADS-th channel.
//            Their sums go to shared memory and are added in pairs: log2(CHANNEL_THREADS) steps,
//            half of the threads idle in the first, more in each that follows. The order is always
//            the same: so are the bits of y.
// Arrays     x: float32, shape (B, C, H, W); filter: (M, C, K, K); y: (B, M, out_h, out_w) with
//            out_h = H - K + 1, out_w = W - K + 1. y must not overlap the others.
// Launch     block = (TILE_WIDTH, TILE_WIDTH, CHANNEL_THREADS);
//            grid = (ceil(out_w / TILE_WIDTH) * ceil(out_h / TILE_WIDTH), M, B)
// Sizes      any sizes with K <= H and K <= W; M, B <= 65,535. CHANNEL_THREADS is
//            a power of two up to 64, and TILE_WIDTH^2 * CHANNEL_THREADS <= 1,024.
// Memory     shared: CHANNEL_THREADS * TILE_WIDTH^2 * 4 bytes, static. constant: none.
// Constants  TILE_WIDTH, CHANNEL_THREADS by -D (defaults below).
// Reference  helpers.reference.conv2d

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef CHANNEL_THREADS
#define CHANNEL_THREADS 4
#endif
#if CHANNEL_THREADS & (CHANNEL_THREADS - 1)
#error "conv2d_channels_tree: CHANNEL_THREADS must be a power of two"
#endif

extern "C" __global__ void conv2d_channels_tree(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    __shared__ float partial[CHANNEL_THREADS][TILE_WIDTH * TILE_WIDTH];
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;   // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    const int m = blockIdx.y;
    const int b = blockIdx.z;
    const int mine = threadIdx.y * TILE_WIDTH + threadIdx.x;   // the output, in [0, TILE_WIDTH^2)
    const bool inside = h < out_h && w < out_w;

    // Compute. A thread without an output or without a channel adds nothing, and goes on to the
    // barriers. The offset of an image takes 64 bits.
    const float* image = x + (long long)b * C * H * W;
    float sum = 0.0f;
    for (int c = threadIdx.z; inside && c < C; c += CHANNEL_THREADS) {
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            }
        }
    }
    partial[threadIdx.z][mine] = sum;

    // Reduce. Each step reads what the step before wrote, hence a barrier before each; no branch
    // stands around them.
    for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.z < half) {
            partial[threadIdx.z][mine] += partial[threadIdx.z + half][mine];
        }
    }

    // Store. partial[0][mine] was last written by this same thread: no barrier is needed.
    if (inside && threadIdx.z == 0) {
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = partial[0][mine];
    }
}
