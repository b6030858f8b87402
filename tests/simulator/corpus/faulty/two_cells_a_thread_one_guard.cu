// two_cells_a_thread_one_guard.cu -- WRONG ON PURPOSE: each thread copies two cells, and only the first is guarded
//
// fault: out-of-bounds
// array: x
// launch: grid=2 block=256
// arguments: out float y 999; in float x 999 uniform; int n=999

extern "C" __global__ void two_cells_a_thread_one_guard(float* y, const float* x, int n)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        y[i] = x[i];
        y[i + 1] = x[i + 1]; // <- here
    }
}
