// flag_in_shared_too_early.cu -- WRONG ON PURPOSE: the flag may be seen before the value that it announces
//
// fault: race
// array: value
// launch: grid=4 block=64
// arguments: out int y 4; in int x 4 below=100

extern "C" __global__ void flag_in_shared_too_early(int* y, const int* x)
{
    __shared__ volatile int flag;
    __shared__ int value;
    if (threadIdx.x == 0) {
        flag = 0;
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        __threadfence_block();
        flag = 1;
        value = 2 * x[blockIdx.x]; // <- here
    }
    if (threadIdx.x == 0) {
        while (flag == 0) {
        }
        y[blockIdx.x] = value; // <- here
    }
}
