//>
//= // %%kernel my_entry -DTILE_WIDTH=16 -DCOLUMNS=1 -DMAPS=1
// %%kernel my_entry -DTILE_WIDTH=12 -DCOLUMNS=3 -DMAPS=4
//<
__global__ void my_entry(float* y, const float* x, const float* filter,
                         int B, int C, int M, int H, int W, int K)
{
    //>
    //= const int out_h = H - K + 1, out_w = W - K + 1, wide = TILE_WIDTH * COLUMNS;
    //= const int across = (out_w + wide - 1) / wide, b = blockIdx.z;
    //= const int h = blockIdx.x / across * TILE_WIDTH + threadIdx.y;
    //= for (int i = 0; i < COLUMNS * MAPS; ++i) {                               // change this
        //= const int w = blockIdx.x % across * wide + threadIdx.x + i / MAPS * TILE_WIDTH;
        //= const int m = blockIdx.y * MAPS + i % MAPS;
        //= if (h >= out_h || w >= out_w || m >= M) continue;
        //= float sum = 0.0f;
        //= for (int c = 0; c < C; ++c)
            //= for (int p = 0; p < K; ++p)
                //= for (int q = 0; q < K; ++q)
                    //= sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q]
                         //= * filter[((m * C + c) * K + p) * K + q];
        //= y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    //= }
    // K <= 15. Rows of 12 lanes of a warp fall into different banks.
    __shared__ __align__(16) float tile[26][76], taps[225][4];
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 35) / 36;
    const int top = blockIdx.x / across * 12, left = blockIdx.x % across * 36;
    const int ty = threadIdx.y, tx = threadIdx.x, m = blockIdx.y * 4, b = blockIdx.z, n = K * K;
    float sum[3][4] = {};   // columns tx, tx + 12, tx + 24 of maps m to m + 3
    for (int c = 0; c < C; ++c) {
        const float* plane = x + ((size_t)b * C + c) * H * W;
        for (int r = ty; r < 11 + K; r += 12)
            for (int s = tx; s < 35 + K; s += 12)
                tile[r][s] = top + r < H && left + s < W ? plane[(top + r) * W + left + s] : 0.0f;
        for (int i = ty * 12 + tx; i < n * 4; i += 144)
            taps[i / 4][i % 4] = m + i % 4 < M ? filter[((m + i % 4) * C + c) * n + i / 4] : 0.0f;
        __syncthreads();   // other threads' cells are read next
        for (int i = 0; i < n; ++i) {
            const float4 tap = *reinterpret_cast<const float4*>(taps[i]);
            const float* row = &tile[ty + i / K][tx + i % K];
            for (int o = 0; o < 3; ++o) {
                const float cell = row[12 * o];
                sum[o][0] += cell * tap.x;
                sum[o][1] += cell * tap.y;
                sum[o][2] += cell * tap.z;
                sum[o][3] += cell * tap.w;
            }
        }
        __syncthreads();   // not before all have read
    }
    for (int o = 0; o < 3; ++o)
        for (int j = 0; j < 4; ++j) {
            const int w = left + tx + 12 * o;
            if (m + j < M && top + ty < out_h && w < out_w)
                y[(((size_t)b * M + m + j) * out_h + top + ty) * out_w + w] = sum[o][j];
        }
    //<
}
