// %%kernel conv2d_patch -DFILTER_WORDS=196
__constant__ float filter[FILTER_WORDS];   // (M, 7, 7)
__global__ void conv2d_patch(float* y, const float* x, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int h = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (h >= out_h || w >= out_w) return;
    float sum[2][4] = {};
    const float* taps = filter + m * 49;
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
        float cell[10];
        #pragma unroll
        for (int i = 0; i < 10; ++i) {
            cell[i] = 0.0f;
            if (h + r < H && w + i < W) cell[i] = x[(h + r) * W + w + i];
        }
        #pragma unroll
        for (int q = 0; q < 7; ++q) {
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (r < 7) sum[0][i] += cell[i + q] * taps[r * 7 + q];
                if (r > 0) sum[1][i] += cell[i + q] * taps[(r - 1) * 7 + q];
            }
        }
    }
    for (int o = 0; o < 2; ++o)
        for (int i = 0; i < 4; ++i)
            if (h + o < out_h && w + i < out_w) y[(m * out_h + h + o) * out_w + w + i] = sum[o][i];
}
