// set_by_the_first_block_only.cu -- WRONG ON PURPOSE: only the first block fills its table: shared memory is every block's own
//
// fault: uninitialised
// array: table
// launch: grid=3 block=32
// arguments: out int y 96; in int x 96 below=32

extern "C" __global__ void set_by_the_first_block_only(int* y, const int* x)
{
    __shared__ int table[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t;
    if (blockIdx.x == 0) table[t] = t * t;
    __syncthreads();
    y[i] = table[x[i]]; // <- here
}
