// rate_blocks.cu -- how many blocks, and how many warps, a second a GPU starts: blocks that do
// nothing
//
// Computes   y[0] = value; all other blocks end at once
// Idea       What is left of a kernel without work is its launch and the start of its blocks. One
//            block gives the launch, a million blocks give the rate.
// Arrays     y: int32, shape (1,).
// Launch     block = (any, 1, 1); grid = (any, 1).
// Sizes      any.
// Memory     no shared, no constant.
// Constants  none.
// Reference  evidence.rates.kernels

extern "C" __global__ void rate_blocks(int* y, int value)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        y[0] = value;
    }
}
