// break_for_all.cu -- the block leaves the loop together, by a vote
//
// twin: break_above_barrier
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=8
// result: y = np.full(64, x.max() + 1)

extern "C" __global__ void break_for_all(int* y, const int* x)
{
    const int t = threadIdx.x;
    int rounds = 0;
    for (;;) {
        ++rounds;
        if (__syncthreads_or(rounds <= x[t]) == 0) break;
    }
    y[t] = rounds;
}
