// two_cells_a_thread.cu -- each thread copies two cells, each behind its guard
//
// twin: two_cells_a_thread_one_guard
// launch: grid=2 block=256
// arguments: out float y 999; in float x 999 uniform; int n=999
// result: y = x

extern "C" __global__ void two_cells_a_thread(float* y, const float* x, int n)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        y[i] = x[i];
    }
    if (i + 1 < n) {
        y[i + 1] = x[i + 1];
    }
}
