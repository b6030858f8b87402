//>
//= // %%kernel conv2d_two -DFILTER_WORDS=196 -DPITCH=22
// %%kernel conv2d_two -DFILTER_WORDS=196 -DPITCH=24
//<
__constant__ float filter[FILTER_WORDS];                  // maps of 7 x 7 weights
__global__ void conv2d_two(float* y, const float* x, int H, int W)
{
    __shared__ float tile[22][PITCH];                     // PITCH: words from row to row
    const int across = (W + 9) / 16, m = blockIdx.y;      // tiles side by side; the output map
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int row = 2 * threadIdx.y, column = threadIdx.x;  // of the upper output, within the tile
    float sum[2] = {};

    //> Load 22 x 22 cells of x from row top, column left on, by 16 x 8 threads;
    //> 0 outside of the image.
    for (int r = threadIdx.y; r < 22; r += 8)
        for (int s = threadIdx.x; s < 22; s += 16)
            tile[r][s] = top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f;
    __syncthreads();
    //<

    //> Compute the upper output, sum[0], and the one under it, sum[1].
    for (int p = 0; p < 8; ++p)
        for (int q = 0; q < 7; ++q) {
            const float cell = tile[row + p][column + q];
            if (p < 7) sum[0] += cell * filter[(m * 7 + p) * 7 + q];
            if (p > 0) sum[1] += cell * filter[(m * 7 + p - 1) * 7 + q];
        }
    //<

    for (int o = 0; o < 2; ++o)
        if (top + row + o < H - 6 && left + column < W - 6)
            y[(m * (H - 6) + top + row + o) * (W - 6) + left + column] = sum[o];
}
