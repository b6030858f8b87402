// %%kernel my_rung -DMAPS=4
// Threads load by rows and columns, and the sums run over p and q.
__global__ void my_rung(float* y, const float* x, const float* filter,
                        int B, int C, int M, int H, int W, int K)
{
    __shared__ float cells[30 * 31];
    __shared__ float weights[15 * 15][MAPS];
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int tx = threadIdx.x, ty = threadIdx.y, m0 = blockIdx.y * MAPS, b = blockIdx.z;
    float sum[MAPS] = {};
    for (int c = 0; c < C; ++c) {
        const float* plane = x + ((size_t)b * C + c) * H * W;
        for (int r = ty; r < 15 + K; r += 16)
            for (int s = tx; s < 15 + K; s += 16)
                cells[r * 31 + s] = top + r < H && left + s < W ? plane[(top + r) * W + left + s] : 0.0f;
        for (int m = 0; m < MAPS; ++m)
            if (ty < K && tx < K)
                weights[ty * K + tx][m] =
                    m0 + m < M ? filter[(((m0 + m) * C + c) * K + ty) * K + tx] : 0.0f;
        __syncthreads();
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q) {
                const float cell = cells[(ty + p) * 31 + tx + q];
                #pragma unroll
                for (int m = 0; m < MAPS; ++m) sum[m] += cell * weights[p * K + q][m];
            }
        __syncthreads();
    }
    if (top + ty < out_h && left + tx < out_w)
        #pragma unroll
        for (int m = 0; m < MAPS; ++m)
            if (m0 + m < M) y[(((size_t)b * M + m0 + m) * out_h + top + ty) * out_w + left + tx] = sum[m];
}
