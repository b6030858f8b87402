// %%kernel fft_back -DPOINTS=64
__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    for (int n = t; n < POINTS; n += POINTS / 2) {
        float2 sum = make_float2(0.0f, 0.0f);
        for (int k = 0; k < POINTS; ++k) {
            const float2 c = cells[__brev(k) >> (__clz(POINTS) + 1)];
            const int angle = n * k % POINTS;
            float2 w = twiddles[angle % (POINTS / 2)];
            if (angle >= POINTS / 2) w = make_float2(-w.x, -w.y);
            sum.x += c.x * w.x + c.y * w.y;
            sum.y += c.y * w.x - c.x * w.y;
        }
        x[blockIdx.x * POINTS + n] = sum;
    }
}
