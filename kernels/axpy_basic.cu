// axpy_basic.cu -- y = a * x + y, one thread per element: the first kernel
//
// Computes   y[i] = a * x[i] + y[i]
// Idea       The grid has at least one thread per element; a thread finds its element from its
//            block and its place in that block.
// Arrays     y, x: float32, shape (n,). y is read and written; x may be y (each thread touches only
//            its own element).
// Launch     block = (any, 1, 1), 256 unless said otherwise; grid = (ceil(n / blockDim.x), 1)
// Sizes      1 <= n <= 2,000,000,000 (the index is an int); the last block may be partial.
// Memory     no shared, no constant.
// Constants  none.
// Reference  a * x + y in NumPy, float64

extern "C" __global__ void axpy_basic(float* y, const float* x, int n, float a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // The grid is a whole number of blocks, so the last block usually has threads past the end:
    // they must do nothing.
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
