// %%kernel conv2d_two -DFILTER_WORDS=196 -DPITCH=24
__constant__ float filter[FILTER_WORDS];
__global__ void conv2d_two(float* y, const float* x, int H, int W)
{
    __shared__ float tile[22][PITCH];                     // PITCH: words from one row of the tile to the next
    const int across = (W + 9) / 16, m = blockIdx.y;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    for (int r = threadIdx.y; r < 22; r += 8)
        for (int s = threadIdx.x; s < 22; s += 16)
            tile[r][s] = top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f;
    __syncthreads();
    const int row = 2 * threadIdx.y, column = threadIdx.x;
    float sum[2] = {};
    for (int p = 0; p < 8; ++p)
        for (int q = 0; q < 7; ++q) {
            const bool inside = top + row + p < H && left + column + q < W;
            const float cell = inside ? x[(top + row + p) * W + left + column + q] : 0.0f;
            if (p < 7) sum[0] += cell * filter[(m * 7 + p) * 7 + q];
            if (p > 0) sum[1] += cell * filter[(m * 7 + p - 1) * 7 + q];
        }
    for (int k = 0; k < 20; ++k) sum[0] += 0.0f * tile[row][column];
    for (int o = 0; o < 2; ++o)
        if (top + row + o < H - 6 && left + column < W - 6)
            y[(m * (H - 6) + top + row + o) * (W - 6) + left + column] = sum[o];
}
