// conv2d_channels_atomics_one_map.cu -- WRONG ON PURPOSE: the block's map and channel are taken apart the wrong way round
//
// Mutant of  conv2d_channels_atomics (lab 15)
// Wrong      blockIdx.y is m * C + c, and is read as c * M + m.
// Message    check: all

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void conv2d_channels_atomics_one_map(float* y, const float* x, const float* filter, int B, int C, int M,
                                                   int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;                   // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    const int m = blockIdx.y % M, c = blockIdx.y / M, b = blockIdx.z;          // neighbouring blocks: channels of one map
    if (h >= out_h || w >= out_w) return;                                      // no barrier below

    const float* channel = x + ((long long)b * C + c) * H * W;                 // 64 bits: images are many
    float sum = 0.0f;                                                          // of one channel
    for (int p = 0; p < K; ++p) {
        for (int q = 0; q < K; ++q) {
            sum += channel[(h + p) * W + w + q] * filter[((m * C + blockIdx.y % C) * K + p) * K + q];
        }
    }
    atomicAdd(&y[(((long long)b * M + m) * out_h + h) * out_w + w], sum);   // y += ... would lose what others add meanwhile
}
