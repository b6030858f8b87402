// %%kernel block_sums
__global__ void block_sums(float* sums, const float* N, int n)
{
    __shared__ float sum;
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) sum = 0.0f;
    __syncthreads();
    if (i < n) atomicAdd(&sum, N[i]);
    __syncthreads();
    if (t == 0) sums[blockIdx.x] = sum;
}
