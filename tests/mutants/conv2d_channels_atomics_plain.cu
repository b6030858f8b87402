// conv2d_channels_atomics_plain.cu -- WRONG ON PURPOSE: a plain addition to y in place of an atomic one
//
// Mutant of  conv2d_channels_atomics (lab 15)
// Wrong      y += reads, adds and writes in three steps: what another block adds between them is lost.
// Message    simulator: race, array y

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void conv2d_channels_atomics_plain(float* y, const float* x, const float* filter, int B, int C, int M,
                                                   int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;                   // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    const int m = blockIdx.y / C, c = blockIdx.y % C, b = blockIdx.z;          // neighbouring blocks: channels of one map
    if (h >= out_h || w >= out_w) return;                                      // no barrier below

    const float* channel = x + ((long long)b * C + c) * H * W;                 // 64 bits: images are many
    float sum = 0.0f;                                                          // of one channel
    for (int p = 0; p < K; ++p) {
        for (int q = 0; q < K; ++q) {
            sum += channel[(h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
        }
    }
    y[(((long long)b * M + m) * out_h + h) * out_w + w] += sum;
}
