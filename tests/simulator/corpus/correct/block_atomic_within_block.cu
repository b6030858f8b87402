// block_atomic_within_block.cu -- an atomic of block scope on a sum of the block's own
//
// twin: block_atomic_across_blocks
// launch: grid=2 block=64
// arguments: inout int sums 2 zeros; in int x 128 below=100
// result: sums = x.reshape(2, 64).sum(axis=1)

extern "C" __global__ void block_atomic_within_block(int* sums, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_block(&sums[blockIdx.x], value);
}
