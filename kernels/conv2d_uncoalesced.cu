// conv2d_uncoalesced.cu -- a convolution layer with threadIdx.x on the rows: uncoalesced on purpose
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q]; valid, not flipped
// Idea       conv2d_basic with one index swapped: neighbouring lanes own outputs above each other,
//            a whole row apart in memory. With blocks of 16 x 16 only lanes l and l + 16 share a
//            32-byte sector: a request moves 16 of them in place of 5. Right, and slow.
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); y: float32, shape
//            (B, M, out_h, out_w) with out_h = H - K + 1 and out_w = W - K + 1; all C-contiguous; y
//            must not alias the others.
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.y) * ceil(out_h / blockDim.x), M, B)
// Sizes      1 <= K <= H, W; M, B <= 65,535; C * H * W and M * C * K * K < 2^31.
//            The last tiles may be partial.
// Memory     no shared, no constant: x and filter are read from global memory by every thread.
// Constants  none.
// Reference  helpers.reference.conv2d

extern "C" __global__ void conv2d_uncoalesced(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.y - 1) / blockDim.y;
    const int w = blockIdx.x % tiles_across * blockDim.y + threadIdx.y;
    // Uncoalesced on purpose: lanes go down a column.
    const int h = blockIdx.x / tiles_across * blockDim.x + threadIdx.x;
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
