// %%kernel conv2d_two -DFILTER_WORDS=196 -DPITCH=22
__constant__ float filter[FILTER_WORDS];                  // maps of 7 x 7 weights
__global__ void conv2d_two(float* y, const float* x, int H, int W)
{
    __shared__ float tile[22][PITCH];                     // PITCH: words from one row of the tile to the next
    const int across = (W + 9) / 16, m = blockIdx.y;      // tiles side by side; the output map
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int row = 2 * threadIdx.y, column = threadIdx.x;  // of the upper output, within the tile
    float sum[2] = {};

    // Load 22 x 22 cells of x from row top, column left on, by 16 x 8 threads; 0 outside of the image.

    // Compute the upper output, sum[0], and the one under it, sum[1].

    for (int o = 0; o < 2; ++o)
        if (top + row + o < H - 6 && left + column < W - 6)
            y[(m * (H - 6) + top + row + o) * (W - 6) + left + column] = sum[o];
}
