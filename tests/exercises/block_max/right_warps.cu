// %%kernel block_max
__device__ float largest_of_warp(float x)
{
    for (int half = 16; half > 0; half /= 2) x = fmaxf(x, __shfl_down_sync(0xffffffff, x, half));
    return x;
}
__global__ void block_max(float* P, const float* N, int n)
{
    __shared__ float of_warp[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float largest = largest_of_warp(i < n ? N[i] : -3.4e38f);
    if (t % 32 == 0) of_warp[t / 32] = largest;
    __syncthreads();
    if (t < 32) {
        const float all = largest_of_warp(of_warp[t % 8]);
        if (t == 0) P[blockIdx.x] = all;
    }
}
