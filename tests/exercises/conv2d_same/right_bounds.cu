// %%kernel conv2d_same
__global__ void conv2d_same(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int tiles_across = (W + 15) / 16;
    const int w = blockIdx.x % tiles_across * 16 + threadIdx.x, h = blockIdx.x / tiles_across * 16 + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h >= H || w >= W) return;
    float sum = 0.0f;
    const int r = K / 2;
    const int first_p = max(0, r - h), end_p = min(K, H + r - h);
    const int first_q = max(0, r - w), end_q = min(K, W + r - w);
    for (int c = 0; c < C; ++c)
        for (int p = first_p; p < end_p; ++p)
            for (int q = first_q; q < end_q; ++q) {
                const float weight = filter[((m * C + c) * K + p) * K + q];
                sum += x[((b * C + c) * H + h - r + p) * W + w - r + q] * weight;
            }
    y[((b * M + m) * H + h) * W + w] = sum;
}
