// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 256 * blockIdx.x; k <= i; ++k) sum += N[k];
    P[i] = sum;
}
