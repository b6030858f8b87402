// %%kernel block_sums
__global__ void block_sums(float* sums, const float* N, int n)
{
    __shared__ float of_warp[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float sum = i < n ? N[i] : 0.0f;
    for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(0xffffffff, sum, apart);
    if (t % 32 == 0) of_warp[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        float all = 0.0f;
        for (int k = 0; k < 8; ++k) all += of_warp[k];
        sums[blockIdx.x] = all;
    }
}
