// sum_read_behind_barrier.cu -- atomics on a shared sum, a barrier, and then the sum is read
//
// twin: sum_read_before_barrier
// launch: grid=4 block=128
// arguments: out int y 4; in int x 512 below=50
// result: y = x.reshape(4, 128).sum(axis=1)

extern "C" __global__ void sum_read_behind_barrier(int* y, const int* x)
{
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}
