// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    __shared__ float s[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float most = i < n ? N[i] : -INFINITY;
    for (int far = 16; far > 0; far /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, far));
    s[t / 32] = most;    // 32 lanes store one value
    __syncthreads();
    most = s[t % 8];
    for (int far = 4; far > 0; far /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, far));
    if (t == 0) P[blockIdx.x] = most;
}
