// reduce_interleaved.cu -- sum of 256 cells a block; partners move apart, so that lanes meet the same bank
extern "C" __global__ void reduce_interleaved(float* out, const float* in, int n)
{
    __shared__ float sums[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    sums[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int apart = 1; apart < 256; apart *= 2) {
        const int mine = 2 * apart * t;
        if (mine < 256) sums[mine] += sums[mine + apart];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
