// %%kernel my_rung -DMAPS=1
__global__ void my_rung(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16, first = blockIdx.y * MAPS, b = blockIdx.z;
    const int h = top + threadIdx.y, w = left + threadIdx.x;
    if (h >= out_h || w >= out_w) return;
    for (int m = first; m < M && m < first + MAPS; ++m) {
        float sum = 0.0f;
        for (int i = 0; i < C * K * K; ++i)
            sum += x[(((size_t)b * C + i / (K * K)) * H + h + i / K % K) * W + w + i % K] * filter[m * C * K * K + i];
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
