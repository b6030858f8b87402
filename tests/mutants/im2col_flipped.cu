// im2col_flipped.cu -- WRONG ON PURPOSE: the rows of the matrix stand in reverse order
//
// Mutant of  im2col_basic (lab 11)
// Wrong      row (p, q) holds cell (K-1-p, K-1-q), so that the product convolves with the filter turned by half a
//            circle.
// Message    check: suspect (the filter is flipped)

extern "C" __global__ void im2col_flipped(float* unrolled, const float* x, int B, int C, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;   // column of the matrix: lanes write side by side
    const int c = blockIdx.y;
    const int b = blockIdx.z;

    if (pixel < out_h * out_w) {
        const int h = pixel / out_w;   // the only division of this thread, for K*K cells
        const int w = pixel % out_w;
        // 10,000 images of 49 rows and 6,400 columns are 3.1e9 cells: more than an int can count.
        const float* corner = x + ((size_t)b * C + c) * H * W + h * W + w;
        float* column = unrolled + ((size_t)b * C + c) * K * K * out_h * out_w + pixel;
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                column[(p * K + q) * out_h * out_w] = corner[(K - 1 - p) * W + K - 1 - q];
            }
        }
    }
}
