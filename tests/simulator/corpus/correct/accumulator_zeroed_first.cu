// accumulator_zeroed_first.cu -- the sum is zero before anybody adds
//
// twin: accumulator_zeroed_too_late
// launch: grid=4 block=128
// arguments: out int y 4; in int x 512 below=50
// result: y = x.reshape(4, 128).max(axis=1)

extern "C" __global__ void accumulator_zeroed_first(int* y, const int* x)
{
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    atomicMax(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}
