// %%kernel fft_back -DPOINTS=64
__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{   // twiddles[k] = exp(-2 pi i k / POINTS)
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;                                  // [0, POINTS / 2): one pair in each stage
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    // your loop
    for (int i = t; i < POINTS; i += POINTS / 2) x[blockIdx.x * POINTS + i] = cells[i];
}
