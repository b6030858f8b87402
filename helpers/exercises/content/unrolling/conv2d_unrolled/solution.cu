// %%kernel conv2d_unrolled -DFILTER_WIDTH=7
__global__ void conv2d_unrolled(               // no K: FILTER_WIDTH is known to the compiler
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + 15) / 16;                      // blocks of 16 x 16 threads
    const int h = blockIdx.x / across * 16 + threadIdx.y;
    const int w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;

    if (h < out_h && w < out_w) {
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            const float* cell = x + (((size_t)b * C + c) * H + h) * W + w;       // under tap (0, 0)
            const float* tap = filter + (m * C + c) * FILTER_WIDTH * FILTER_WIDTH;   // tap (0, 0)
            //> Add up the products of this channel: two loops, and #pragma unroll above each.
            #pragma unroll
            for (int p = 0; p < FILTER_WIDTH; ++p) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q)
                    sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];
            }
            //<
        }
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
