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

    //> Copy the K * K cells under the filter at this output. The cell of filter row p and column q
    //> goes to row p * K + q of `rows`, column pixel. A row has out_h * out_w numbers.
    const int h = pixel / out_w, w = pixel % out_w;
    for (int p = 0; p < K; ++p) {
        for (int q = 0; q < K; ++q) {
            rows[(p * K + q) * out_h * out_w + pixel] = channel[(h + p) * W + w + q];
        }
    }
    //<
}
