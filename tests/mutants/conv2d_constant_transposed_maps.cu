// conv2d_constant_transposed_maps.cu -- WRONG ON PURPOSE: input channels and output maps exchanged in the filter's index
//
// Mutant of  conv2d_constant (lab 08)
// Wrong      the weights lie as (M, C, K, K), and the index reads them as (C, M, K, K): every weight is one of the
//            filter, but of another map.
// Message    check: all

#ifndef FILTER_WORDS
#define FILTER_WORDS 196
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__constant__ float filter[FILTER_WORDS];   // shape (M, C, K, K)

extern "C" __global__ void conv2d_constant_transposed_maps(float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;   // tiles along columns
    const int h = blockIdx.x / across * TILE_WIDTH + threadIdx.y;
    const int w = blockIdx.x % across * TILE_WIDTH + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;

    if (h < out_h && w < out_w) {
        const float* image = x + (size_t)b * C * H * W;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    // Still a broadcast, of the wrong word.
                    sum += image[(c * H + h + p) * W + w + q] * filter[((c * M + m) * K + p) * K + q];
                }
            }
        }
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
