// scan_block.cu -- running sums of 256 cells a block, in eight steps between barriers
extern "C" __global__ void scan_block(float* out, const float* in, int n)
{
    __shared__ float sums[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    sums[t] = i < n ? in[i] : 0.0f;
    for (int back = 1; back < 256; back *= 2) {
        __syncthreads();
        const float more = t >= back ? sums[t - back] : 0.0f;
        __syncthreads();
        sums[t] += more;
    }
    if (i < n) out[i] = sums[t];
}
