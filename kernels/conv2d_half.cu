// conv2d_half.cu -- convolution layer on cells and weights stored as half; sums in float32
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], valid, not flipped
// Idea       Half as a way to *store*: a cell takes 2 bytes on its way from memory, and is widened
//            in a register. Products of two halves are exact in float32, and the sum is
//            float32 too.
// Arrays     x: half, shape (B, C, H, W); filter: half, shape (M, C, K, K), both by to_half; y:
//            float32, shape (B, M, out_h, out_w), out_h = H - K + 1. They must not overlap.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.x) * ceil(out_h / blockDim.y), M, B)
// Sizes      K <= H, W; any B, C, M that the grid takes (65,535 each in y and z); the last tiles
//            may be partial.
// Memory     no shared, no constant.
// Constants  none.
// Reference  helpers.reference.conv2d of the rounded arrays; tolerance: problems.precision.HALF

#include <cuda_fp16.h>

extern "C" __global__ void conv2d_half(
    float* y, const __half* x, const __half* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    // Lanes lie side by side in a row.
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
                    const __half cell = image[(c * H + h + p) * W + w + q];
                    const __half tap = weights[(c * K + p) * K + q];
                    // Both are widened first: the product is exact, the sum is float32.
                    sum += __half2float(cell) * __half2float(tap);
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
