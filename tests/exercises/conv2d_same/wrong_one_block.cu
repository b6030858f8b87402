// %%kernel conv2d_same
__global__ void conv2d_same(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    if (blockIdx.x + blockIdx.y + blockIdx.z > 0) return;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < B * M * H * W; i += 256) {
    const int w = i % W, h = i / W % H, m = i / (W * H) % M, b = i / (W * H * M);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q) {
                const int row = h - K / 2 + p, column = w - K / 2 + q;
                if (row < 0 || row >= H || column < 0 || column >= W) continue;
                sum += x[((b * C + c) * H + row) * W + column] * filter[((m * C + c) * K + p) * K + q];
            }
    y[((b * M + m) * H + h) * W + w] = sum;
    }
}
