// %%kernel conv2d_patch -DFILTER_WORDS=196
__constant__ float filter[FILTER_WORDS];   // (M, 7, 7)
__global__ void conv2d_patch(float* y, const float* x, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int h = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (h >= out_h || w >= out_w) return;
    float sum[2][4] = {};
    float above[7];
    for (int r = 0; r < 8; ++r) {
        float cell[10], weight[7];
        for (int i = 0; i < 10; ++i) cell[i] = h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f;
        for (int q = 0; q < 7; ++q) weight[q] = r < 7 ? filter[(m * 7 + r) * 7 + q] : 0.0f;
        for (int q = 0; q < 7; ++q)
            for (int i = 0; i < 4; ++i) {
                sum[0][i] += cell[i + q] * weight[q];
                sum[1][i] += r > 0 ? cell[i + q] * above[q] : 0.0f;
            }
        for (int q = 0; q < 7; ++q) above[q] = weight[q];
    }
    for (int o = 0; o < 2; ++o)
        for (int i = 0; i < 4; ++i)
            if (h + o < out_h && w + i < out_w) y[(m * out_h + h + o) * out_w + w + i] = sum[o][i];
}
