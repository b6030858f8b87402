// %%kernel conv2d_same
__global__ void conv2d_same(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int tiles_across = (W + 15) / 16;
    const int w = blockIdx.x % tiles_across * 16 + threadIdx.x, h = blockIdx.x / tiles_across * 16 + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h >= H || w >= W) return;
    float sum = 0.0f;
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q) {
                const int row = min(max(h + p - K / 2, 0), H - 1);
                const int column = min(max(w + q - K / 2, 0), W - 1);
                const float cell = x[((b * C + c) * H + row) * W + column];
                sum += cell * filter[((m * C + c) * K + p) * K + q];
            }
    y[((b * M + m) * H + h) * W + w] = sum;
}
