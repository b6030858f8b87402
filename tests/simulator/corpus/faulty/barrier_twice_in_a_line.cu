// barrier_twice_in_a_line.cu -- WRONG ON PURPOSE: a macro has a barrier in each of two branches, and both are in one line
//
// fault: barrier
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100

#define MEET(condition) \
    if (condition) __syncthreads(); \
    else __syncthreads()

extern "C" __global__ void barrier_twice_in_a_line(int* y, const int* x)
{
    __shared__ int tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = x[i];
    MEET(t < 32); // <- here
    y[i] = tile[63 - t];
}
