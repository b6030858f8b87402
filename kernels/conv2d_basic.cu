// conv2d_basic.cu -- a convolution layer, one thread per output, everything in global memory
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h*S+p,w*S+q] * filter[m,c,p,q]; valid, not flipped,
//            S = STRIDE
// Idea       A thread owns one output. Columns go with threadIdx.x, rows with threadIdx.y, the tile
//            of the output map with blockIdx.x, the output map with blockIdx.y, the image with
//            blockIdx.z: no loop over outputs is left.
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); y: float32, shape
//            (B, M, out_h, out_w) with out_h = (H - K) / S + 1 and out_w likewise; all
//            C-contiguous; y must not alias the others.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.x) * ceil(out_h / blockDim.y), M, B)
// Sizes      1 <= K <= H, W; M, B <= 65,535; C * H * W and M * C * K * K < 2^31.
//            The last tiles may be partial.
// Memory     no shared, no constant: x and filter are read from global memory by every thread.
// Constants  STRIDE by -D (default 1).
// Reference  helpers.reference.conv2d

#ifndef STRIDE
#define STRIDE 1
#endif

extern "C" __global__ void conv2d_basic(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = (H - K) / STRIDE + 1;
    const int out_w = (W - K) / STRIDE + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    // Lanes lie side by side in a row.
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y;
    const int b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // The offset of an image takes 64 bits: the output maps of 10,000 images of layer 1 hold
        // 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    sum += image[(c * H + h * STRIDE + p) * W + w * STRIDE + q]
                        * weights[(c * K + p) * K + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
