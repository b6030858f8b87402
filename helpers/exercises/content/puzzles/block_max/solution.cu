// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    //> P[b] is the largest of the 256 numbers of block b (fewer in the last block).
    //> Blocks of 256 threads. Halve the number of candidates in each step.
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : -INFINITY;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) s[t] = fmaxf(s[t], s[t + half]);
        __syncthreads();
    }
    if (t == 0) P[blockIdx.x] = s[0];
    //<
}
