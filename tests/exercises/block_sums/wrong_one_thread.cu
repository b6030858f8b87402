// %%kernel block_sums
__global__ void block_sums(float* sums, const float* N, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 256; ++k) sum += s[k];
        sums[blockIdx.x] = sum;
    }
}
