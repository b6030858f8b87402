// %%kernel conv2d_patch -DFILTER_WORDS=196
__constant__ float filter[FILTER_WORDS];              // (M, 7, 7)
__global__ void conv2d_patch(float* y, const float* x, int H, int W)
{
    const int out_h = H - 6, out_w = W - 6, m = blockIdx.z;
    const int w = 4 * (blockIdx.x * blockDim.x + threadIdx.x);   // the patch's first column
    const int h = 2 * (blockIdx.y * blockDim.y + threadIdx.y);   // and its first row
    if (h >= out_h || w >= out_w) return;
    float sum[2][4] = {};

    //> Load a row of 10 cells of x into registers, 0 outside of the image, and add its products to
    //> the sums of both rows of outputs that it belongs to. Then the next row.
    for (int r = 0; r < 8; ++r) {           // row r is row r - o of the filter for output row o
        float cell[10];
        for (int i = 0; i < 10; ++i)
            cell[i] = h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f;
        for (int o = 0; o < 2; ++o)
            for (int q = 0; q < 7; ++q)
                for (int i = 0; i < 4; ++i)
                    if (r - o >= 0 && r - o < 7)
                        sum[o][i] += cell[i + q] * filter[(m * 7 + r - o) * 7 + q];
    }
    //<

    for (int o = 0; o < 2; ++o)
        for (int i = 0; i < 4; ++i)
            if (h + o < out_h && w + i < out_w) y[(m * out_h + h + o) * out_w + w + i] = sum[o][i];
}
