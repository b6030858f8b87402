// reduce_tree.cu -- sum of 256 cells a block; the upper half is added to the lower one, so that whole warps drop out first
extern "C" __global__ void reduce_tree(float* out, const float* in, int n)
{
    __shared__ float sums[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    sums[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
