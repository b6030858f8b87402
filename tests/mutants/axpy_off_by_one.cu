// axpy_off_by_one.cu -- WRONG ON PURPOSE: the guard lets one thread too many through
//
// Mutant of  axpy_basic (lab 00)
// Wrong      the guard asks i <= n, so one thread touches the element after the last.
// Message    simulator: out-of-bounds, array y|x

extern "C" __global__ void axpy_off_by_one(float* y, const float* x, int n, float a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = a * x[i] + y[i];
    }
}
