// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    __shared__ float s[8];
    float v = i < n ? N[i] : -INFINITY, best = v;
    for (int k = 0; k < 32; ++k) best = fmaxf(best, __shfl_sync(0xffffffff, v, k));
    if (t % 32 == 0) s[t / 32] = best;
    __syncthreads();
    if (t == 0) { for (int k = 0; k < 8; ++k) best = fmaxf(best, s[k]); P[blockIdx.x] = best; }
}
