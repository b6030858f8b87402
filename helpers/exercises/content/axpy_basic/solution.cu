// %%kernel axpy_basic
extern "C" __global__ void axpy_basic(float* y, const float* x, int n, float a)
{
    //> 1. The number of this thread in the whole grid, from blockIdx.x, blockDim.x and threadIdx.x.
    //= const int i = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    //<

    //> 2. The guard: only a thread that has an element may go on.
    //= if (true) {
    if (i < n) {
    //<
        y[i] = a * x[i] + y[i];
    }
}
