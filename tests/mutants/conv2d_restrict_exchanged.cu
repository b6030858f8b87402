// conv2d_restrict_exchanged.cu -- WRONG ON PURPOSE: rows and columns of the filter are exchanged
//
// Mutant of  conv2d_restrict (lab 10)
// Wrong      the weight of tap (p, q) is read at (q, p): right for symmetric filters only.
// Message    check: suspect (the rows and columns of the filter are exchanged)

extern "C" __global__ void conv2d_restrict_exchanged(float* __restrict__ y, const float* __restrict__ x,
                                           const float* __restrict__ filter,
                                           int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
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
                    sum += image[(c * H + h + p) * W + w + q] * weights[(c * K + q) * K + p];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
