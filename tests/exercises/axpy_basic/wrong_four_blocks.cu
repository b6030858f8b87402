// %%kernel axpy_basic
extern "C" __global__ void axpy_basic(float* y, const float* x, int n, float a)
{
    if (blockIdx.x >= 4) return;
    for (int b = blockIdx.x; b < gridDim.x; b += 2) {    // even blocks by block 2, odd ones by 3
        const int i = b * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
        if (blockIdx.x < 2) return;
    }
}
