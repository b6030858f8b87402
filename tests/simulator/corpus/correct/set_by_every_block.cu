// set_by_every_block.cu -- every block fills its own table
//
// twin: set_by_the_first_block_only
// launch: grid=3 block=32
// arguments: out int y 96; in int x 96 below=32
// result: y = np.square(x)

extern "C" __global__ void set_by_every_block(int* y, const int* x)
{
    __shared__ int table[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t;
    table[t] = t * t;
    __syncthreads();
    y[i] = table[x[i]];
}
