// %%kernel my_rung -DMAPS=1
__global__ void my_rung(float* y, const float* x, const float* filter,
                        int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16;
    const int h = blockIdx.x / across * 16 + threadIdx.y, w = blockIdx.x % across * 16 + threadIdx.x;
    const int first = blockIdx.y * MAPS, b = blockIdx.z;
    if (h >= out_h || w >= out_w) return;
    for (int m = first; m < M && m < first + MAPS; ++m) {
        float sum = 0.0f;
        for (int c = 0; c < C; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
