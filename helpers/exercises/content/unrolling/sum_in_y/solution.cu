// %%kernel sum_in_y -DFILTER_WIDTH=7
__global__ void sum_in_y(
    //> 1. Promise that what is written through y is not read through x or filter.
    //= float* y, const float* x, const float* filter,
    float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ filter,
    //<
    int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1, out_w = W - FILTER_WIDTH + 1;
    const int across = (out_w + 15) / 16;
    const int h = blockIdx.x / across * 16 + threadIdx.y;
    const int w = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;

    if (h < out_h && w < out_w) {
        float* sum = &y[(((size_t)b * M + m) * out_h + h) * out_w + w];   // not a variable: in y
        *sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            const float* cell = x + (((size_t)b * C + c) * H + h) * W + w;
            const float* tap = filter + (m * C + c) * FILTER_WIDTH * FILTER_WIDTH;
            #pragma unroll
            for (int p = 0; p < FILTER_WIDTH; ++p) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q)
                    //> 2. Add the product of step 2 to *sum, in place of 0.0f.
                    //= *sum += 0.0f;
                    *sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];
                    //<
            }
        }
    }
}
