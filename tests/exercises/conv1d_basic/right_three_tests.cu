// %%kernel conv1d_basic
__global__ void conv1d_basic(float* P, const float* N, const float* filter, int n)
{
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) {
        float sum = filter[1] * N[i];
        if (i > 0) sum = sum + filter[0] * N[i - 1];
        if (i + 1 < n) sum = sum + filter[2] * N[i + 1];
        P[i] = sum;
    }
}
