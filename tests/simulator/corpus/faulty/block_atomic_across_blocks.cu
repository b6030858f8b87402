// block_atomic_across_blocks.cu -- WRONG ON PURPOSE: an atomic of block scope on a sum that other blocks add to as well
//
// fault: race
// array: sums
// launch: grid=2 block=64
// arguments: inout int sums 1 zeros; in int x 128 below=100

extern "C" __global__ void block_atomic_across_blocks(int* sums, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_block(&sums[0], value); // <- here
}
