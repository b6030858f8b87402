// %%kernel conv2d_unrolled -DFILTER_WIDTH=7
__global__ void conv2d_unrolled(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + 15) / 16;
    const int h = blockIdx.x / across * 16 + threadIdx.y;
    const int w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h >= out_h || w >= out_w) return;
    const float* row = x + ((size_t)b * C * H + h) * W + w;
    const float* weight = filter + m * C * FILTER_WIDTH * FILTER_WIDTH;
    float sum = 0.0f;
    for (int c = 0; c < C; ++c, row += H * W) {
        #pragma unroll
        for (int tap = 0; tap < FILTER_WIDTH * FILTER_WIDTH; ++tap)
            sum += row[tap / FILTER_WIDTH * W + tap % FILTER_WIDTH] * *weight++;
    }
    y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
}
