// %%kernel conv2d_chunk -DFILTER_WORDS=16384
__constant__ float filter[FILTER_WORDS];
__global__ void conv2d_chunk(
    float* y, const float* x, int first_map, int first_channel, int channels,
    int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16;
    const int h = blockIdx.x / across * 16 + threadIdx.y;
    const int w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;          // m counts the maps of this launch
    if (h < out_h && w < out_w) {
        //> The symbol holds `channels` channels of each map of this launch, without gaps. About
        //> five changes are needed from here on.
        //= float sum = 0.0f;
        //= for (int c = 0; c < C; ++c)
        //=     for (int p = 0; p < K; ++p)
        //=         for (int q = 0; q < K; ++q)
        //=             sum += x[((b * C + c) * H + h + p) * W + w + q]
        //=                  * filter[((m * C + c) * K + p) * K + q];
        //= y[((b * M + m) * out_h + h) * out_w + w] = sum;
        float* output = &y[((b * M + first_map + m) * out_h + h) * out_w + w];
        float sum = first_channel > 0 ? *output : 0.0f;
        for (int c = 0; c < channels; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    sum += x[((b * C + first_channel + c) * H + h + p) * W + w + q]
                         * filter[((m * channels + c) * K + p) * K + q];
        *output = sum;
        //<
    }
}
