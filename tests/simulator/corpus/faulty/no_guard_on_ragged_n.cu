// no_guard_on_ragged_n.cu -- WRONG ON PURPOSE: n is no multiple of the block, and nothing guards the last one
//
// fault: out-of-bounds
// array: y
// launch: grid=4 block=256
// arguments: out float y 1000; int n=1000

extern "C" __global__ void no_guard_on_ragged_n(float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i; // <- here
}
