// flag_in_shared.cu -- one warp hands values to another by a volatile flag in shared memory and fences of the block
//
// twin: flag_in_shared_too_early
// launch: grid=4 block=64
// arguments: out int y 4; in int x 4 below=100
// result: y = 2 * x

extern "C" __global__ void flag_in_shared(int* y, const int* x)
{
    __shared__ volatile int flag;
    __shared__ int value;
    if (threadIdx.x == 0) {
        flag = 0;
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        value = 2 * x[blockIdx.x];
        __threadfence_block();
        flag = 1;
    }
    if (threadIdx.x == 0) {
        while (flag == 0) {
        }
        __threadfence_block();
        y[blockIdx.x] = value;
    }
}
