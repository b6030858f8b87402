// %%kernel axpy_two
__global__ void axpy_two(float* y, const float* x, int n, float a)
{
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            y[i] = a * x[i] + y[i];
        }
    }
}
