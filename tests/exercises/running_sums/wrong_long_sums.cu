// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= t; ++k) sum += s[k];
    if (i < n) P[i] = sum;
}
