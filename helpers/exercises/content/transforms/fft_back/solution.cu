// %%kernel fft_back -DPOINTS=64
__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{   // twiddles[k] = exp(-2 pi i k / POINTS)
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;                                  // [0, POINTS / 2): one pair in each stage
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    //> The stages in reverse order: spans 1, 2, 4 ... POINTS / 2. In each, thread t has one pair:
    //> turn its second cell by the twiddle's conjugate, then store sum and difference. A barrier.
    for (int span = 1; span < POINTS; span *= 2) {
        const int place = t & (span - 1), first = 2 * (t - place) + place;
        const float2 w = twiddles[place * (POINTS / 2 / span)];
        const float2 a = cells[first], c = cells[first + span];
        const float2 b = make_float2(c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y);   // times w's conjugate
        cells[first] = make_float2(a.x + b.x, a.y + b.y);
        cells[first + span] = make_float2(a.x - b.x, a.y - b.y);
        __syncthreads();
    }
    //<
    for (int i = t; i < POINTS; i += POINTS / 2) x[blockIdx.x * POINTS + i] = cells[i];
}
