// axpy_unguarded.cu -- WRONG ON PURPOSE: threads past the end do not stop
//
// Mutant of  axpy_basic (lab 00)
// Wrong      there is no guard, so the last block's extra threads read x and read and write y past their ends.
// Message    simulator: out-of-bounds, array y|x

extern "C" __global__ void axpy_unguarded(float* y, const float* x, int n, float a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];
}
