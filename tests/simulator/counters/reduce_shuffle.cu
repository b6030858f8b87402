// reduce_shuffle.cu -- sum of 256 cells a block by shuffles, the warps' sums through shared memory
extern "C" __global__ void reduce_shuffle(float* out, const float* in, int n)
{
    __shared__ float sums[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float sum = i < n ? in[i] : 0.0f;
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_down_sync(0xffffffffu, sum, apart);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 8 ? sums[t] : 0.0f;
        for (int apart = 4; apart > 0; apart /= 2) sum += __shfl_down_sync(0xffffffffu, sum, apart);
        if (t == 0) out[blockIdx.x] = sum;
    }
}
