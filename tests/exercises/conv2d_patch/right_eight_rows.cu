// %%kernel conv2d_patch -DFILTER_WORDS=196
__constant__ float filter[FILTER_WORDS];
__global__ void conv2d_patch(float* y, const float* x, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int h = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (h >= out_h || w >= out_w) return;
    float sum[2][4] = {};

    float cell[8][10];
    for (int r = 0; r < 8; ++r)
        for (int i = 0; i < 10; ++i)
            cell[r][i] = h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f;
    for (int p = 0; p < 7; ++p)
        for (int q = 0; q < 7; ++q) {
            const float weight = filter[(m * 7 + p) * 7 + q];
            for (int o = 0; o < 2; ++o)
                for (int i = 0; i < 4; ++i) sum[o][i] += cell[p + o][q + i] * weight;
        }

    for (int o = 0; o < 2; ++o)
        for (int i = 0; i < 4; ++i)
            if (h + o < out_h && w + i < out_w) y[(m * out_h + h + o) * out_w + w + i] = sum[o][i];
}
