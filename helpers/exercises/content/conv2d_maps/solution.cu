// %%kernel conv2d_maps
__global__ void conv2d_maps(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1;
    //>
    //= const int m = blockIdx.y % ((M + 15) / 16) * 16 + threadIdx.x;       // change this
    //= const int w = blockIdx.x * 16 + threadIdx.y;                         // and this
    const int m = blockIdx.y % ((M + 15) / 16) * 16 + threadIdx.y;
    const int w = blockIdx.x * 16 + threadIdx.x;
    //<
    const int h = blockIdx.y / ((M + 15) / 16), b = blockIdx.z;
    if (w >= out_w || m >= M) return;
    float sum = 0.0f;
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q)
                sum += x[((b * C + c) * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
    y[((b * M + m) * out_h + h) * out_w + w] = sum;
}
