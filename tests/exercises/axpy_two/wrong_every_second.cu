// %%kernel axpy_two
extern "C" __global__ void axpy_two(float* y, const float* x, int n, float a)
{
    if (threadIdx.x % 2) return;
    for (int k = 0; k < 4; ++k) {
        const int i = 2 * blockIdx.x * blockDim.x + threadIdx.x / 2 + k * (blockDim.x / 2);
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
