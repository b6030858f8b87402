// %%kernel my_entry -DTILE_WIDTH=8 -DCOLUMNS=5 -DMAPS=4
__global__ void my_entry(float* y, const float* x, const float* filter,
                         int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, wide = TILE_WIDTH * COLUMNS;
    const int across = (out_w + wide - 1) / wide, b = blockIdx.z;
    const int h = blockIdx.x / across * TILE_WIDTH + threadIdx.y;
    const int left = blockIdx.x % across * wide + threadIdx.x, m = blockIdx.y * MAPS;
    float sum[COLUMNS][MAPS] = {};
    if (h >= out_h) return;
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < K; ++p) {
            const float* row = x + (((size_t)b * C + c) * H + h + p) * W;
            for (int q = 0; q < K; ++q) {
                float tap[MAPS];
                #pragma unroll
                for (int j = 0; j < MAPS; ++j) tap[j] = filter[((min(m + j, M - 1) * C + c) * K + p) * K + q];
                #pragma unroll
                for (int o = 0; o < COLUMNS; ++o) {
                    const float cell = row[min(left + o * TILE_WIDTH + q, W - 1)];
                    #pragma unroll
                    for (int j = 0; j < MAPS; ++j) sum[o][j] += cell * tap[j];
                }
            }
        }
    #pragma unroll
    for (int o = 0; o < COLUMNS; ++o)
        #pragma unroll
        for (int j = 0; j < MAPS; ++j) {
            const int w = left + o * TILE_WIDTH;
            if (w < out_w && m + j < M) y[(((size_t)b * M + m + j) * out_h + h) * out_w + w] = sum[o][j];
        }
}
