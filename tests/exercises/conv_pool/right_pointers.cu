// %%kernel conv_pool
__global__ void conv_pool(float* y, const float* x, const float* filter,
                          int B, int C, int M, int H, int W, int K, int pool)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int rows = (out_h + pool - 1) / pool, columns = (out_w + pool - 1) / pool;
    const int across = (columns + 15) / 16;
    const int row = blockIdx.x / across * 16 + threadIdx.y;
    const int column = blockIdx.x % across * 16 + threadIdx.x;
    if (row < rows && column < columns) {
        const int last_h = min(out_h, (row + 1) * pool), last_w = min(out_w, (column + 1) * pool);
        float best = 0.0f;
        for (int h = row * pool; h < last_h; ++h)
            for (int w = column * pool; w < last_w; ++w) {
                const float* cell = x + (size_t)blockIdx.z * C * H * W + h * W + w;
                const float* weight = filter + (size_t)blockIdx.y * C * K * K;
                float sum = 0.0f;
                for (int c = 0; c < C; ++c, cell += H * W)
                    for (int p = 0; p < K; ++p)
                        for (int q = 0; q < K; ++q)
                            sum += cell[p * W + q] * *weight++;
                if (sum > best) best = sum;
            }
        y[(((size_t)blockIdx.z * M + blockIdx.y) * rows + row) * columns + column] = best;
    }
}
