// no_guard_on_whole_blocks.cu -- no guard is needed when n is a multiple of the block
//
// twin: no_guard_on_ragged_n
// launch: grid=4 block=256
// arguments: out float y 1024; int n=1024
// result: y = np.arange(n)

extern "C" __global__ void no_guard_on_whole_blocks(float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i;
}
