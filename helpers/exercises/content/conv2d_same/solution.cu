// %%kernel conv2d_same
__global__ void conv2d_same(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    //> Which output (b, m, h, w) does this thread compute? Is there such an output?
    const int tiles_across = (W + 15) / 16;
    const int w = blockIdx.x % tiles_across * 16 + threadIdx.x, h = blockIdx.x / tiles_across * 16 + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h >= H || w >= W) return;
    //<

    //> Sum up C x K x K products, without those whose cell lies outside of the image.
    float sum = 0.0f;
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q) {
                const int row = h - K / 2 + p, column = w - K / 2 + q;
                if (row < 0 || row >= H || column < 0 || column >= W) continue;
                sum += x[((b * C + c) * H + row) * W + column] * filter[((m * C + c) * K + p) * K + q];
            }
    //<

    //> Store the sum.
    y[((b * M + m) * H + h) * W + w] = sum;
    //<
}
