// im2col_unguarded.cu -- WRONG ON PURPOSE: no guard on the last block
//
// Mutant of  im2col_basic (lab 11)
// Wrong      the threads past the last output copy cells too: into the next row of the matrix, and past the end of the
//            last one.
// Message    simulator: out-of-bounds, array unrolled|x

extern "C" __global__ void im2col_unguarded(float* unrolled, const float* x, int B, int C, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;   // column of the matrix: lanes write side by side
    const int c = blockIdx.y;
    const int b = blockIdx.z;

    {
        const int h = pixel / out_w;   // the only division of this thread, for K*K cells
        const int w = pixel % out_w;
        // 10,000 images of 49 rows and 6,400 columns are 3.1e9 cells: more than an int can count.
        const float* corner = x + ((size_t)b * C + c) * H * W + h * W + w;
        float* column = unrolled + ((size_t)b * C + c) * K * K * out_h * out_w + pixel;
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                column[(p * K + q) * out_h * out_w] = corner[p * W + q];
            }
        }
    }
}
