// conv2d_constant_first_map.cu -- WRONG ON PURPOSE: every map is made with the weights of map 0
//
// Mutant of  conv2d_constant (lab 08)
// Wrong      the map is left out of the filter's index, as happens when only a part of the filter fits into constant
//            memory: map 0 is right, all others repeat it.
// Message    check: suspect (every output map gets the weights of the first)

#ifndef FILTER_WORDS
#define FILTER_WORDS 196
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__constant__ float filter[FILTER_WORDS];   // shape (M, C, K, K)

extern "C" __global__ void conv2d_constant_first_map(float* y, const float* x, int B, int C, int M, int H, int W, int K)
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
                    // One broadcast, and one map for all.
                    sum += image[(c * H + h + p) * W + w + q] * filter[(c * K + p) * K + q];
                }
            }
        }
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
