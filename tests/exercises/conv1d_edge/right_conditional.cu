// %%kernel conv1d_edge
extern "C" __global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
    for (int j = -1; j <= 1; ++j) {
        int cell = i + j;
        cell = cell < 0 ? 0 : cell;
        cell = cell >= n ? n - 1 : cell;
        sum += N[cell] * filter[j + 1];
    }
    P[i] = sum;
}
