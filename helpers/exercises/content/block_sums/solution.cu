// %%kernel block_sums
__global__ void block_sums(float* sums, const float* N, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    for (int stride = 128; stride >= 32; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    //>
    //= if (t < 32)                                              // one warp
        //= for (int stride = 16; stride >= 1; stride /= 2)
            //= s[t] += s[t + stride];
    for (int stride = 16; t < 32 && stride >= 1; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncwarp();
    }
    //<
    if (t == 0) sums[blockIdx.x] = s[0];
}
