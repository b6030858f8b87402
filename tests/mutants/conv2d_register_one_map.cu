// conv2d_register_one_map.cu -- WRONG ON PURPOSE: every map of a patch gets the first one's weights
//
// Mutant of  conv2d_register (lab 13)
// Wrong      the index of the map is left out where the weight is read: of each MAPS maps only the first is right.
// Message    check: planes

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef PATCH_WIDTH
#define PATCH_WIDTH 4
#endif
#ifndef MAPS
#define MAPS 4
#endif
#define CELLS (PATCH_WIDTH + FILTER_WIDTH - 1)

extern "C" __global__ void conv2d_register_one_map(
    float* y, const float* __restrict__ x, const float* __restrict__ filter, int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + blockDim.x * PATCH_WIDTH - 1) / (blockDim.x * PATCH_WIDTH);
    const int h = blockIdx.x / across * blockDim.y + threadIdx.y;
    const int w = (blockIdx.x % across * blockDim.x + threadIdx.x) * PATCH_WIDTH;   // the patch's first column
    const int first = blockIdx.y * MAPS, b = blockIdx.z;                             // and its first output map
    if (h >= out_h || w >= out_w) return;   // no barrier below
    float sum[MAPS][PATCH_WIDTH] = {};

    for (int c = 0; c < C; ++c) {
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int p = 0; p < FILTER_WIDTH; ++p) {
            float cell[CELLS];
            #pragma unroll
            for (int i = 0; i < CELLS; ++i) cell[i] = w + i < W ? channel[(h + p) * W + w + i] : 0.0f;
            // Unrolled, every index into cell and sum is a constant: only then are they registers.
            #pragma unroll
            for (int m = 0; m < MAPS; ++m) {
                const int map = first;   // past the last map: its sum again, which is not stored
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    const float weight = filter[((map * C + c) * FILTER_WIDTH + p) * FILTER_WIDTH + q];
                    for (int o = 0; o < PATCH_WIDTH; ++o) sum[m][o] += cell[o + q] * weight;
                }
            }
        }
    }
    for (int m = 0; m < MAPS; ++m) {
        for (int o = 0; o < PATCH_WIDTH; ++o) {
            if (first + m < M && w + o < out_w) y[(((size_t)b * M + first + m) * out_h + h) * out_w + w + o] = sum[m][o];
        }
    }
}
