// conv2d_tiled_maps_one_sum.cu -- WRONG ON PURPOSE: all maps of a thread are stored from one sum
//
// Mutant of  conv2d_tiled_maps (lab 09)
// Wrong      the index of the sum is forgotten at the store: every MAPS-th map is right, the others
//            repeat it.
// Message    check: planes

#ifndef FILTER_WORDS
#define FILTER_WORDS 196
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef MAPS
#define MAPS 4
#endif

__constant__ float filter[FILTER_WORDS];   // shape (M, C, K, K)

extern "C" __global__ void conv2d_tiled_maps_one_sum(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    extern __shared__ float tile[];         // span rows of span cells
    const int span = TILE_WIDTH + K - 1;    // the tile's cells and its halo, to the right and below
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles_across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;
    const int top = blockIdx.x / tiles_across * TILE_WIDTH;
    const int left = blockIdx.x % tiles_across * TILE_WIDTH;
    const int h = top + threadIdx.y;
    const int w = left + threadIdx.x;
    const int b = blockIdx.z;
    // Maps first .. first + MAPS - 1. threadIdx.z is always 0, but nvcc does not know that, and so
    // it loads each weight with LDC. Without this term nvcc 13.0 sees that all lanes want one
    // address, and for some values of MAPS it takes uniform registers (ULDC) instead: lab 09 times
    // both.
    const int first = blockIdx.y * MAPS + threadIdx.z;
    float sum[MAPS] = {};

    for (int c = 0; c < C; ++c) {
        // Load, as in conv2d_tiled.
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int r = threadIdx.y; r < span && top + r < H; r += TILE_WIDTH) {
            for (int s = threadIdx.x; s < span && left + s < W; s += TILE_WIDTH) {
                tile[r * span + s] = channel[(top + r) * W + left + s];
            }
        }
        __syncthreads();   // outputs read cells that other threads loaded

        // Compute. A cell is read from the tile once, and multiplied by one weight of each map.
        if (h < out_h && w < out_w) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    const float cell = tile[(threadIdx.y + p) * span + threadIdx.x + q];
                    #pragma unroll
                    for (int o = 0; o < MAPS; ++o) {
                        // Past the last map: its sum again, which is not stored.
                        const int m = min(first + o, M - 1);
                        sum[o] += cell * filter[((m * C + c) * K + p) * K + q];
                    }
                }
            }
        }
        __syncthreads();   // the next channel overwrites the tile: not before all have read it
    }

    // Store.
    if (h < out_h && w < out_w) {
        #pragma unroll
        for (int o = 0; o < MAPS; ++o) {
            if (first + o < M) {
                y[(((size_t)b * M + first + o) * out_h + h) * out_w + w] = sum[0];
            }
        }
    }
}
