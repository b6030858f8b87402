// %%kernel conv2d_half
#include <cuda_fp16.h>
__global__ void conv2d_half(
    float* y, const __half* x, const __half* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y;
    const int b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        const __half* image = x + (long long)b * C * H * W;
        const __half* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    //> Load a cell and a weight, both halves. Add their exact product to sum.
                    const __half cell = image[(c * H + h + p) * W + w + q];
                    const __half tap = weights[(c * K + p) * K + q];
                    sum += __half2float(cell) * __half2float(tap);
                    //<
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
