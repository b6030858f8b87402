// vote_barrier_in_branch.cu -- WRONG ON PURPOSE: __syncthreads_count counts a block, but half of the block is elsewhere
//
// fault: barrier
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=10

extern "C" __global__ void vote_barrier_in_branch(int* y, const int* x)
{
    const int t = threadIdx.x;
    if (t % 2 == 0) {
        y[t] = __syncthreads_count(x[t] > 4); // <- here
    } else {
        y[t] = 0;
        __syncthreads(); // <- here
    }
}
