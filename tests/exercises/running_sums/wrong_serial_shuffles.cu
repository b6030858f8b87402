// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    __shared__ float totals[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t, lane = t % 32, w = t / 32;
    const float own = i < n ? N[i] : 0.0f;
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) { const float v = __shfl_sync(0xffffffff, own, k); if (k <= lane) sum += v; }
    if (lane == 31) totals[w] = sum;
    __syncthreads();
    for (int k = 0; k < w; ++k) sum += totals[k];
    if (i < n) P[i] = sum;
}
