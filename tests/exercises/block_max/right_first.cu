// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    // A thread without a number takes the block's first one, which changes no maximum.
    __shared__ float s[128];
    const int t = threadIdx.x, first = blockIdx.x * 256;
    float mine = N[first + t < n ? first + t : first];
    for (int half = 128; half > 0; half >>= 1) {
        if (t >= half && t < 2 * half) s[t - half] = mine;
        __syncthreads();
        if (t < half && s[t] > mine) mine = s[t];
        __syncthreads();
    }
    if (t == 0) P[blockIdx.x] = mine;
}
