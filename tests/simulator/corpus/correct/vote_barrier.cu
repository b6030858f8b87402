// vote_barrier.cu -- __syncthreads_count, called by the whole block
//
// twin: vote_barrier_in_branch
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=10
// result: y = np.full(64, np.count_nonzero(x > 4))

extern "C" __global__ void vote_barrier(int* y, const int* x)
{
    const int t = threadIdx.x;
    y[t] = __syncthreads_count(x[t] > 4);
}
