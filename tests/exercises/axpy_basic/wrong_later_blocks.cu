// %%kernel axpy_basic
extern "C" __global__ void axpy_basic(float* y, const float* x, int n, float a)
{
    const int first = blockIdx.x * blockDim.x, end = min(n, first + (int)blockDim.x);
    const bool is_watched = blockIdx.x == 0;    // one warp does the work of all other blocks
    if (!is_watched && threadIdx.x >= 32) return;
    for (int i = first + threadIdx.x; i < end; i += is_watched ? blockDim.x : 32) {
        y[i] = a * x[i] + y[i];
    }
}
