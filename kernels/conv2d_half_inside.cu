// conv2d_half_inside.cu -- convolution layer, converts to half at every product: slow on purpose
//
// Computes   y[b,m,h,w] = sum_{c,p,q} half(x[b,c,h+p,w+q]) * half(filter[m,c,p,q]), valid, not
//            flipped; sums in float32
// Idea       A course report called this its FP16 kernel: the arrays stay float32, and the loop
//            converts. No byte is saved, and each cell is converted M * K * K times. conv2d_half
//            converts once, and gives the same y bit for bit.
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); y: float32, shape
//            (B, M, out_h, out_w), out_h = H - K + 1. They must not overlap.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.x) * ceil(out_h / blockDim.y), M, B)
// Sizes      K <= H, W; any B, C, M that the grid takes (65,535 each in y and z); the last tiles
//            may be partial.
// Memory     no shared, no constant.
// Constants  none.
// Reference  helpers.reference.conv2d of the rounded arrays; tolerance: problems.precision.HALF

#include <cuda_fp16.h>

extern "C" __global__ void conv2d_half_inside(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
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
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    const __half cell = __float2half(image[(c * H + h + p) * W + w + q]);
                    const __half tap = __float2half(weights[(c * K + p) * K + q]);
                    // The product is exact in float32: it has 22 significant bits.
                    sum += __half2float(cell) * __half2float(tap);
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
