// %%kernel unrolled_by_two
__global__ void unrolled_by_two(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    const int out_h = H - K + 1, out_w = W - K + 1, tiles = (out_w + blockDim.x - 1) / blockDim.x;
    const int w = blockIdx.x % tiles * blockDim.x + threadIdx.x, h = blockIdx.x / tiles * blockDim.y + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;
    if (h >= out_h || w >= out_w) return;
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        for (int p = 0; p < K; ++p) {
            const float* cell = x + ((b * C + c) * H + h + p) * W + w;
            const float* tap = filter + ((m * C + c) * K + p) * K;
            //>
            //= for (int q = 0; q < K; q += 2) {                                 // change this loop
                //= sum += cell[q] * tap[q] + cell[q + 1] * tap[q + 1];
            //= }
            int q = 0;
            for (; q + 1 < K; q += 2) sum += cell[q] * tap[q] + cell[q + 1] * tap[q + 1];
            if (q < K) sum += cell[q] * tap[q];
            //<
        }
    }
    y[((b * M + m) * out_h + h) * out_w + w] = sum;
}
