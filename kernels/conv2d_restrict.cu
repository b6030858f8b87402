// conv2d_restrict.cu -- convolution layer, with the promise that the arrays do not overlap
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       conv2d_basic with __restrict__: nobody writes what x and filter point to while the
//            kernel runs. nvcc may then load them by the read-only path (LDG.E.CONSTANT) and move
//            loads above stores. There is one store in this kernel, the last thing that a thread
//            does: little is left to move.
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); y: float32, shape
//            (B, M, out_h, out_w) with out_h = H - K + 1 and out_w likewise. y must not overlap the
//            others: that is the promise, and a broken one is undefined behaviour that nothing
//            reports.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.x) * ceil(out_h / blockDim.y), M, B)
// Sizes      1 <= K <= H, W; any B, C, M that the grid takes (65,535 each in y and z); the last
//            tiles may be partial.
// Memory     no shared, no constant.
// Constants  none.
// Reference  helpers.reference.conv2d

extern "C" __global__ void conv2d_restrict(
    float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ filter,
    int B, int C, int M, int H, int W, int K)
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
        // The offset of an image takes 64 bits: the output maps of 10,000 images of layer 1 hold
        // 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    sum += image[(c * H + h + p) * W + w + q] * weights[(c * K + p) * K + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
