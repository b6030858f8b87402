// neutral_value_in_empty_block.cu -- a maximum of the block starts from the neutral value
//
// twin: no_value_in_empty_block
// launch: grid=3 block=64
// arguments: out int y 3; in int x 100 below=1000; int n=100
// result: y = [x[:64].max(), x[64:].max(), -1]

extern "C" __global__ void neutral_value_in_empty_block(int* y, const int* x, int n)
{
    __shared__ int most;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) {
        most = -1;
    }
    __syncthreads();
    if (i < n) {
        atomicMax(&most, x[i]);
    }
    __syncthreads();
    if (t == 0) {
        y[blockIdx.x] = most;
    }
}
