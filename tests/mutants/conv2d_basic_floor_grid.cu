// conv2d_basic_floor_grid.cu -- WRONG ON PURPOSE: the tiles of a row are counted rounded down
//
// Mutant of  conv2d_basic (lab 06)
// Wrong      The host counts them rounded up: blocks then find other tiles than they should, and nobody computes the last columns.
// Message    check: last block

#ifndef STRIDE
#define STRIDE 1
#endif

extern "C" __global__ void conv2d_basic_floor_grid(float* y, const float* x, const float* filter,
                                                   int B, int C, int M, int H, int W, int K)
{
    const int out_h = (H - K) / STRIDE + 1, out_w = (W - K) / STRIDE + 1;
    const int tiles_across = max(1, out_w / blockDim.x);
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;   // lanes lie side by side in a row
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // 64 bits where an image begins: 10,000 images of layer 1 and its output maps hold 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    sum += image[(c * H + h * STRIDE + p) * W + w * STRIDE + q] * weights[(c * K + p) * K + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
