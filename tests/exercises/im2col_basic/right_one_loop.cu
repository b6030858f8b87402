// %%kernel im2col_basic
__global__ void im2col_basic(float* unrolled, const float* x, int B, int C, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;   // the output, which is the column
    const int c = blockIdx.y, b = blockIdx.z;
    if (pixel >= out_h * out_w) return;

    const float* channel = x + ((size_t)b * C + c) * H * W;
    // The first of the K * K rows that belong to channel c, in the matrix of image b.
    float* rows = unrolled + ((size_t)b * C + c) * K * K * out_h * out_w;

    const float* corner = channel + pixel / out_w * W + pixel % out_w;
    for (int row = 0; row < K * K; ++row) {
        rows[(size_t)row * (out_h * out_w) + pixel] = corner[row / K * W + row % K];
    }
}
