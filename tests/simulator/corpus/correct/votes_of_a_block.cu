// votes_of_a_block.cu -- __syncthreads_count, _and and _or as barriers too: what was stored before them is seen behind them
//
// launch: grid=1 block=64
// arguments: out int y 64x3; in int x 64 below=10
// result: y = block_votes(x)

extern "C" __global__ void votes_of_a_block(int* y, const int* x)
{
    __shared__ int cells[64];
    const int t = threadIdx.x;
    cells[t] = x[t];
    const int count = __syncthreads_count(x[t] > 4);
    const int other = cells[63 - t];
    const int all = __syncthreads_and(other < 10);
    cells[t] = other + 1;
    const int any = __syncthreads_or(other == 99);
    y[3 * t] = count;
    y[3 * t + 1] = all + 2 * (any != 0);
    y[3 * t + 2] = cells[63 - t];
}
