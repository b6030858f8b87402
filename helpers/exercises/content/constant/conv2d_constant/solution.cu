// %%kernel conv2d_constant -DFILTER_WORDS=3136
//> 1. Declare the array `filter` of FILTER_WORDS floats in constant memory, outside of the kernel.
__constant__ float filter[FILTER_WORDS];       // shape (M, C, K, K)
//<

__global__ void conv2d_constant(               // the filter is no argument any more
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int across = (out_w + 15) / 16;                      // blocks of 16 x 16 threads
    const int h = blockIdx.x / across * 16 + threadIdx.y;
    const int w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;

    if (h < out_h && w < out_w) {
        float sum = 0.0f;
        for (int c = 0; c < C; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    //> 2. Multiply the cell with weight (p, q) of map m and channel c.
                    //= sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q] * 0.0f;
                    sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q]
                         * filter[((m * C + c) * K + p) * K + q];
                    //<
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
