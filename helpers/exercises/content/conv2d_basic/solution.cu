// %%kernel conv2d_basic
__global__ void conv2d_basic(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int across = (out_w + blockDim.x - 1) / blockDim.x;     // tiles side by side
    const int m = blockIdx.y, b = blockIdx.z;

    //> 1. Column w and row h of this thread's output. Its block is tile blockIdx.x, which stands
    //>    in column blockIdx.x % across and row blockIdx.x / across of the tiles.
    //= const int w = 0;
    //= const int h = 0;
    const int w = blockIdx.x % across * blockDim.x + threadIdx.x;
    const int h = blockIdx.x / across * blockDim.y + threadIdx.y;
    //<

    //> 2. The guard: only a thread that has an output goes on.
    //= if (true) {
    if (h < out_h && w < out_w) {
    //<
        const float* image = x + (size_t)b * C * H * W;
        const float* weights = filter + m * C * K * K;
        float sum = 0.0f;

        //> 3. Add C * K * K products: for channel c, row p and column q of the filter, the weight
        //>    is weights[(c * K + p) * K + q]. The cell lies p rows below and q columns right of
        //>    (h, w); row r, column s of channel c is image[(c * H + r) * W + s].
        for (int c = 0; c < C; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    sum += image[(c * H + h + p) * W + w + q] * weights[(c * K + p) * K + q];
        //<

        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
