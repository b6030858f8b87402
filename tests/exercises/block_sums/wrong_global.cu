// %%kernel block_sums
__global__ void block_sums(float* sums, const float* N, int n)
{
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 256; ++k) {
            const int i = blockIdx.x * 256 + k;
            if (i < n) sum += N[i];
        }
        sums[blockIdx.x] = sum;
    }
}
