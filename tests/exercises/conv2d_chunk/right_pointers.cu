// %%kernel conv2d_chunk -DFILTER_WORDS=16384
__constant__ float filter[FILTER_WORDS];
__global__ void conv2d_chunk(float* y, const float* x, int first_map, int first_channel, int channels,
                             int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16;
    const int h = blockIdx.x / across * 16 + threadIdx.y, w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h < out_h && w < out_w) {
        const float* plane = x + (b * C + first_channel) * H * W;
        const float* tap = filter + m * channels * K * K;
        float sum = 0.0f;
        for (const float* end = plane + channels * H * W; plane < end; plane += H * W)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q) sum += plane[(h + p) * W + w + q] * *tap++;
        const int i = ((b * M + m + first_map) * out_h + h) * out_w + w;
        y[i] = first_channel ? y[i] + sum : sum;
    }
}
