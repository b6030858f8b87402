// every_thread_stores_its_own_sum.cu -- WRONG ON PURPOSE: all threads of the block store different values into one cell
//
// fault: race
// array: y
// launch: grid=2 block=64
// arguments: out int y 2; in int x 128 below=100

extern "C" __global__ void every_thread_stores_its_own_sum(int* y, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    y[blockIdx.x] = value; // <- here
}
