// %%kernel my_rung -DMAPS=1
__global__ void my_rung(float* y, const float* x, const float* filter,
                        int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile[30][30];   // K <= 15
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16, span = 15 + K;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int first = blockIdx.y * MAPS, b = blockIdx.z, t = threadIdx.y * 16 + threadIdx.x;
    const int h = top + threadIdx.y, w = left + threadIdx.x;
    const int maps = min(MAPS, M - first);
    const bool inside = h < out_h && w < out_w;
    float sum[MAPS] = {};
    for (int c = 0; c < C; ++c) {
        for (int i = t; i < span * span; i += 256) {
            const int r = i / span, s = i % span;
            if (top + r < H && left + s < W)
                tile[r][s] = x[(((size_t)b * C + c) * H + top + r) * W + left + s];
        }
        __syncthreads();   // other threads' cells are read next
        for (int i = 0; i < K * K && inside; ++i) {
            const float cell = tile[threadIdx.y + i / K][threadIdx.x + i % K];
            #pragma unroll
            for (int m = 0; m < MAPS; ++m)
                if (m < maps) sum[m] += cell * filter[((first + m) * C + c) * K * K + i];
        }
        __syncthreads();   // not before all have read
    }
    for (int m = 0; m < maps && inside; ++m)
        y[(((size_t)b * M + first + m) * out_h + h) * out_w + w] = sum[m];
}
