// in_place_between_blocks.cu -- WRONG ON PURPOSE: a barrier orders the threads of a block, but the halo belongs to the next
//     block
//
// fault: race
// array: x
// launch: grid=4 block=64
// arguments: inout float x 250 integers; int n=250

extern "C" __global__ void in_place_between_blocks(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float right = i + 1 < n ? x[i + 1] : 0.0f; // <- here
    __syncthreads();
    if (i < n) {
        x[i] += right; // <- here
    }
}
