// %%kernel axpy_two
__global__ void axpy_two(float* y, const float* x, int n, float a)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] += a * x[i];
    }
}
