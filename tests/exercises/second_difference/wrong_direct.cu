// %%kernel second_difference
__global__ void second_difference(float* P, const float* N, int n)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    const float left = i > 0 ? N[i - 1] : 0.0f, right = i + 1 < n ? N[i + 1] : 0.0f;
    P[i] = left - 2 * N[i] + right;
}
