// break_above_barrier.cu -- WRONG ON PURPOSE: threads leave the loop one by one, and the barrier in it waits for them
//
// fault: barrier
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=8

extern "C" __global__ void break_above_barrier(int* y, const int* x)
{
    const int t = threadIdx.x;
    int rounds = 0;
    for (;;) {
        ++rounds;
        if (rounds > x[t]) break;
        __syncthreads(); // <- here
    }
    __syncthreads(); // <- here
    y[t] = rounds;
}
