// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    __shared__ float s[256], largest[16];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : -INFINITY;
    __syncthreads();
    float mine = -INFINITY;
    if (t < 16) {
        for (int k = 0; k < 16; ++k) mine = fmaxf(mine, s[t + 16 * k]);
        largest[t] = mine;
    }
    __syncthreads();
    if (t == 32) {    // a thread of another warp reads the next 16
        for (int k = 0; k < 16; ++k) mine = fmaxf(mine, largest[k]);
        P[blockIdx.x] = mine;
    }
}
