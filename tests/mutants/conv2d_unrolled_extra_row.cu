// conv2d_unrolled_extra_row.cu -- WRONG ON PURPOSE: a row of the filter too many
//
// Mutant of  conv2d_unrolled (lab 10)
// Wrong      p runs to FILTER_WIDTH inclusive: the eighth row of a filter of seven is the first one of the next filter, and behind
//            the last there is nothing.
// Message    simulator: out-of-bounds, array filter|tap|x

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif

extern "C" __global__ void conv2d_unrolled_extra_row(float* __restrict__ y, const float* __restrict__ x,
                                           const float* __restrict__ filter,
                                           int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;   // lanes lie side by side in a row
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // 64 bits where an image begins: 10,000 images of layer 1 and its output maps hold 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * FILTER_WIDTH * FILTER_WIDTH;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {   // C is an argument: this loop stays
            const float* cell = image + (c * H + h) * W + w;                  // the cell of tap (0, 0)
            const float* tap = weights + c * FILTER_WIDTH * FILTER_WIDTH;
            #pragma unroll
            for (int p = 0; p <= FILTER_WIDTH; ++p) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
