// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : -INFINITY;
    __syncthreads();
    if (t == 0) {
        float largest = s[0];
        for (int k = 1; k < 256; ++k) largest = fmaxf(largest, s[k]);
        P[blockIdx.x] = largest;
    }
}
