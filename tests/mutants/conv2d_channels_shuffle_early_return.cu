// conv2d_channels_shuffle_early_return.cu -- WRONG ON PURPOSE: lanes without a channel leave before the shuffles
//
// Mutant of  conv2d_channels_shuffle (lab 15)
// Wrong      the mask of a shuffle names all 32 lanes, but with fewer channels than lanes some have returned: undefined.
// Message    simulator: mask

#ifndef CHANNEL_LANES
#define CHANNEL_LANES 4
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 8
#endif
#define COLUMNS (32 / CHANNEL_LANES)
#if 32 % CHANNEL_LANES
#error "conv2d_channels_shuffle_early_return: CHANNEL_LANES must divide the 32 lanes of a warp"
#endif

extern "C" __global__ void conv2d_channels_shuffle_early_return(float* y, const float* x, const float* filter, int B, int C, int M,
                                                   int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles = (out_w + COLUMNS - 1) / COLUMNS;                         // along the columns
    const int w = blockIdx.x % tiles * COLUMNS + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_ROWS + threadIdx.z;
    const int m = blockIdx.y, b = blockIdx.z;
    const bool inside = h < out_h && w < out_w;
    if (threadIdx.y >= C) return;

    // Compute. A lane without an output or without a channel adds nothing: the shuffles below want all 32.
    const float* image = x + (long long)b * C * H * W;                         // 64 bits: images are many
    float sum = 0.0f;
    for (int c = threadIdx.y; inside && c < C; c += CHANNEL_LANES) {
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            }
        }
    }

    // Reduce. The lane number is threadIdx.y * COLUMNS + threadIdx.x: the same output, `half` channels on, is
    // half * COLUMNS lanes on. What lanes of the upper half receive is of no use, and nobody uses it.
    #pragma unroll
    for (int half = CHANNEL_LANES / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, half * COLUMNS);
    }

    // Store: the first channel lane of each output has the whole sum.
    if (inside && threadIdx.y == 0) y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
}
