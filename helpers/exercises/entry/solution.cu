// %%kernel my_entry -DTILE_WIDTH=12 -DCOLUMNS=3 -DMAPS=4
__global__ void my_entry(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    __shared__ __align__(16) float tile[26][76], taps[225][4];   // K <= 15; of a warp's lanes, rows of 12 fall into different banks
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 35) / 36, ty = threadIdx.y, tx = threadIdx.x, m = blockIdx.y * 4;
    const int top = blockIdx.x / across * 12, left = blockIdx.x % across * 36, b = blockIdx.z, n = K * K;
    float sum[3][4] = {};   // columns tx, tx + 12, tx + 24 of maps m to m + 3
    for (int c = 0; c < C; ++c) {
        for (int r = ty; r < 11 + K; r += 12) for (int s = tx; s < 35 + K; s += 12)
            tile[r][s] = top + r < H && left + s < W ? x[(((size_t)b * C + c) * H + top + r) * W + left + s] : 0.0f;
        for (int i = ty * 12 + tx, j = i % 4; i < n * 4; i += 144) taps[i / 4][j] = m + j < M ? filter[((m + j) * C + c) * n + i / 4] : 0.0f;
        __syncthreads();   // others loaded what is read now
        for (int i = 0; i < n; ++i) {
            const float4 tap = *reinterpret_cast<const float4*>(taps[i]); const float* row = &tile[ty + i / K][tx + i % K];
            for (int o = 0; o < 3; ++o) { float v = row[12 * o]; sum[o][0] += v * tap.x; sum[o][1] += v * tap.y; sum[o][2] += v * tap.z; sum[o][3] += v * tap.w; }
        }
        __syncthreads(); }   // not before all have read.
    for (int j = 0; j < 12; ++j) if (m + j % 4 < M && top + ty < out_h && left + tx + j / 4 * 12 < out_w)
        y[(((size_t)b * M + m + j % 4) * out_h + top + ty) * out_w + left + tx + j / 4 * 12] = sum[j / 4][j % 4];
}
