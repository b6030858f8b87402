// no_value_in_empty_block.cu -- WRONG ON PURPOSE: a maximum of the block starts from a shared cell that only a thread with a
//     value sets
//
// fault: uninitialised
// array: most
// launch: grid=3 block=64
// arguments: out int y 3; in int x 100 below=1000; int n=100

extern "C" __global__ void no_value_in_empty_block(int* y, const int* x, int n)
{
    __shared__ int most;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0 && i < n) {
        most = x[i];
    }
    __syncthreads();
    if (i < n) {
        atomicMax(&most, x[i]);
    }
    __syncthreads();
    if (t == 0) {
        y[blockIdx.x] = most; // <- here
    }
}
