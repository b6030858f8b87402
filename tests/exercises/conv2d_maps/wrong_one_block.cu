// %%kernel conv2d_maps
__global__ void conv2d_maps(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, rows = B * M * out_h;
    if (blockIdx.x + blockIdx.y + blockIdx.z > 0) return;
    for (int row = threadIdx.y; row < rows; row += 16)
        for (int w = threadIdx.x; w < out_w; w += 16) {
            const int h = row % out_h, m = row / out_h % M, b = row / (out_h * M);
            float sum = 0.0f;
            for (int c = 0; c < C; ++c)
                for (int p = 0; p < K; ++p)
                    for (int q = 0; q < K; ++q)
                        sum += x[((b * C + c) * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            y[((b * M + m) * out_h + h) * out_w + w] = sum;
        }
}
