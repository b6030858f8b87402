// %%kernel conv1d_basic
extern "C" __global__ void conv1d_basic(float* P, const float* N, const float* filter, int n)
{
    //> 1. Which output does this thread compute? Its number in the whole grid, as in axpy_basic.
    //= const int i = 0;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    //<

    //> 2. The guard: only a thread that has an output goes on, as in axpy_basic.
    //= if (true) {
    if (i < n) {
    //<
        float sum = 0.0f;

        //> 3. Add the cells i - 1, i and i + 1, times filter[0], filter[1] and filter[2].
        //>    A ghost (a cell below 0, or above n - 1) counts as 0: do not read it.
        for (int j = 0; j < 3; ++j) {
            const int cell = i - 1 + j;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[j];
            }
        }
        //<

        P[i] = sum;
    }
}
