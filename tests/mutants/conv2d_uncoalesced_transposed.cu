// conv2d_uncoalesced_transposed.cu -- WRONG ON PURPOSE: the axes are swapped in the store, too
//
// Mutant of  conv2d_uncoalesced (lab 07)
// Wrong      Lanes go down a column, and y is written as if they went along a row: each output map comes out transposed.
// Message    check: scattered

extern "C" __global__ void conv2d_uncoalesced_transposed(float* y, const float* x, const float* filter,
                                                         int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles_across = (out_w + blockDim.y - 1) / blockDim.y;
    const int w = blockIdx.x % tiles_across * blockDim.y + threadIdx.y;
    const int h = blockIdx.x / tiles_across * blockDim.x + threadIdx.x;   // on purpose: lanes go down a column
    const int m = blockIdx.y, b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // 64 bits where an image begins: 10,000 images of layer 1 and its output maps hold 256 million floats already.
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
        y[(((long long)b * M + m) * out_w + w) * out_h + h] = sum;
    }
}
