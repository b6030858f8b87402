// %%kernel fft_back -DPOINTS=64
__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    for (int span = 1, skip = POINTS / 2; skip >= 1; span <<= 1, skip >>= 1) {
        const int place = t % span, first = 2 * t - place;
        float2 w = twiddles[place * skip];
        w.y = -w.y;
        float2& upper = cells[first];
        float2& lower = cells[first + span];
        const float2 turned = make_float2(lower.x * w.x - lower.y * w.y, lower.x * w.y + lower.y * w.x);
        lower = make_float2(upper.x - turned.x, upper.y - turned.y);
        upper = make_float2(upper.x + turned.x, upper.y + turned.y);
        __syncthreads();
    }
    for (int i = t; i < POINTS; i += POINTS / 2) x[blockIdx.x * POINTS + i] = cells[i];
}
