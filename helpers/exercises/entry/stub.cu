// %%kernel my_entry -DTILE_WIDTH=16 -DCOLUMNS=1 -DMAPS=1
__global__ void my_entry(float* y, const float* x, const float* filter,
                         int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, wide = TILE_WIDTH * COLUMNS;
    const int across = (out_w + wide - 1) / wide, b = blockIdx.z;
    const int h = blockIdx.x / across * TILE_WIDTH + threadIdx.y;
    for (int i = 0; i < COLUMNS * MAPS; ++i) {                               // change this
        const int w = blockIdx.x % across * wide + threadIdx.x + i / MAPS * TILE_WIDTH;
        const int m = blockIdx.y * MAPS + i % MAPS;
        if (h >= out_h || w >= out_w || m >= M) continue;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q]
                         * filter[((m * C + c) * K + p) * K + q];
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
