// %%kernel conv1d_basic
extern "C" __global__ void conv1d_basic(float* P, const float* N, const float* filter, int n)
{
    __shared__ float cells[1024 + 2];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    cells[t + 1] = i < n ? N[i] : 0.0f;
    if (t == 0) cells[0] = i > 0 ? N[i - 1] : 0.0f;
    if (t == blockDim.x - 1) cells[t + 2] = i + 1 < n ? N[i + 1] : 0.0f;
    if (i < n) P[i] = cells[t] * filter[0] + cells[t + 1] * filter[1] + cells[t + 2] * filter[2];
}
