// barrier_in_line_of_common_condition.cu -- a macro has a barrier in each of two branches, and all threads of a block take the same
//
// twin: barrier_twice_in_a_line
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100
// result: y = x[np.arange(128) ^ 63]

#define MEET(condition) \
    if (condition) __syncthreads(); \
    else __syncthreads()

extern "C" __global__ void barrier_in_line_of_common_condition(int* y, const int* x)
{
    __shared__ int tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = x[i];
    MEET(blockIdx.x == 0);
    y[i] = tile[63 - t];
}
