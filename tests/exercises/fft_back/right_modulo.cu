// %%kernel fft_back -DPOINTS=64
__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    for (int stage = 0; 1 << stage < POINTS; ++stage) {
        const int span = 1 << stage, first = t / span * 2 * span + t % span, second = first + span;
        const float2 w = twiddles[t % span * POINTS / (2 * span)];
        const float2 a = cells[first], c = cells[second];
        const float re = c.x * w.x + c.y * w.y, im = c.y * w.x - c.x * w.y;
        cells[first].x = a.x + re;
        cells[first].y = a.y + im;
        cells[second].x = a.x - re;
        cells[second].y = a.y - im;
        __syncthreads();
    }
    for (int i = t; i < POINTS; i += POINTS / 2) x[blockIdx.x * POINTS + i] = cells[i];
}
