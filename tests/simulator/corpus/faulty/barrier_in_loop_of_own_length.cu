// barrier_in_loop_of_own_length.cu -- WRONG ON PURPOSE: a barrier in a loop whose length differs from thread to thread
//
// fault: barrier
// also: uninitialised race
// launch: grid=1 block=64
// arguments: out float y 64; in int x 64 below=4

extern "C" __global__ void barrier_in_loop_of_own_length(float* y, const int* x)
{
    __shared__ int cells[64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 1 + x[t]; ++k) {
        cells[t] = x[t];
        __syncthreads(); // <- here
        sum += cells[(t + 1) % 64];
        __syncthreads(); // <- here
    }
    y[t] = sum;
}
