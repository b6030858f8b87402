// conv2d_basic_one_channel.cu -- WRONG ON PURPOSE: only the first channel is summed
//
// Mutant of  conv2d_basic (lab 06)
// Wrong      Right for layer 1, which has one channel; layer 2 has four.
// Message    check: suspect (only the first channel is summed)

#ifndef STRIDE
#define STRIDE 1
#endif

extern "C" __global__ void conv2d_basic_one_channel(float* y, const float* x, const float* filter,
                                                    int B, int C, int M, int H, int W, int K)
{
    const int out_h = (H - K) / STRIDE + 1, out_w = (W - K) / STRIDE + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;   // lanes lie side by side in a row
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // 64 bits where an image begins: 10,000 images of layer 1 and its output maps hold 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < 1; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    sum += image[(c * H + h * STRIDE + p) * W + w * STRIDE + q] * weights[(c * K + p) * K + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
