// %%kernel axpy_two
extern "C" __global__ void axpy_two(float* y, const float* x, int n, float a)
{
    //>
    //= const int first = 2 * (blockIdx.x * blockDim.x + threadIdx.x);    // change this
    const int first = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    //<
    for (int k = 0; k < 2; ++k) {
        //>
        //= const int i = first + k;                                      // and this
        const int i = first + k * blockDim.x;
        //<
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
