// %%kernel conv2d_two -DFILTER_WORDS=196 -DPITCH=24
__constant__ float filter[FILTER_WORDS];
__global__ void conv2d_two(float* y, const float* x, int H, int W)
{
    __shared__ float tile[22][PITCH];
    const int across = (W + 9) / 16, m = blockIdx.y;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int row = 2 * threadIdx.y, column = threadIdx.x;
    float sum[2] = {};

    for (int s = threadIdx.x; s < 22; s += 16)
        for (int r = threadIdx.y; r < 22; r += 8)
            tile[r][s] = top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f;
    __syncthreads();

    for (int q = 0; q < 7; ++q) {
        const float* window = &tile[row][column + q];
        float above = *window;
        for (int p = 0; p < 7; ++p) {
            const float below = window[(p + 1) * PITCH], weight = filter[(m * 7 + p) * 7 + q];
            sum[0] += above * weight;
            sum[1] += below * weight;
            above = below;
        }
    }

    for (int o = 0; o < 2; ++o)
        if (top + row + o < H - 6 && left + column < W - 6)
            y[(m * (H - 6) + top + row + o) * (W - 6) + left + column] = sum[o];
}
