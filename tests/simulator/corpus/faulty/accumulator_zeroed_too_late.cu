// accumulator_zeroed_too_late.cu -- WRONG ON PURPOSE: thread 0 sets the sum to zero while others already add to it
//
// fault: race
// also: uninitialised
// array: sum
// launch: grid=4 block=128
// arguments: out int y 4; in int x 512 below=50

extern "C" __global__ void accumulator_zeroed_too_late(int* y, const int* x)
{
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0; // <- here
    }
    atomicMax(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]); // <- here
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}
