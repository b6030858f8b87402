// im2col_basic.cu -- the unrolled matrix of each image: a column per output, a row per filter cell
//
// Computes   unrolled[b, (c*K + p)*K + q, h*out_w + w] = x[b, c, h+p, w+q],
//            out_h = H-K+1, out_w = W-K+1
// Idea       The K*K*C cells that an output needs are copied into one column, so that the
//            convolution becomes a product of matrices, filter (M x C*K*K) times unrolled[b]. Every
//            input cell is stored up to K*K times.
// Arrays     x: float32, (B, C, H, W). unrolled: float32, (B, C*K*K, out_h*out_w). They must not
//            alias.
// Launch     block = (any, 1, 1), 256 threads unless said otherwise;
//            grid = (ceil(out_h*out_w / blockDim.x), C, B).
//            One thread fills the K*K cells of one column that come from one channel.
// Sizes      K <= H and W; C and B <= 65,535; one image and one matrix < 2^31 cells, all of them
//            together may be more.
// Memory     no shared, no constant.
// Constants  none.
// Reference  helpers.reference.conv2d, after gemm_tiled

extern "C" __global__ void im2col_basic(
    float* unrolled, const float* x, int B, int C, int H, int W, int K)
{
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    // The column of the matrix: lanes write side by side.
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
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
                column[(p * K + q) * out_h * out_w] = corner[p * W + q];
            }
        }
    }
}
