// sum_read_before_barrier.cu -- WRONG ON PURPOSE: thread 0 reads the block's sum while others still add to it
//
// fault: race
// array: sum
// launch: grid=4 block=128
// arguments: out int y 4; in int x 512 below=50

extern "C" __global__ void sum_read_before_barrier(int* y, const int* x)
{
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]); // <- here
    if (threadIdx.x == blockDim.x - 1) {
        y[blockIdx.x] = sum; // <- here
    }
}
