// turns_by_volatile.cu -- the threads of a warp take turns: each waits until a volatile counter has its number
//
// twin: turns_by_plain_counter
// launch: grid=1 block=32
// arguments: out int order 32
// result: order = np.arange(32)

extern "C" __global__ void turns_by_volatile(int* order)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0) {
        turn = 0;
    }
    __syncthreads();
    while (turn != threadIdx.x) {
    }
    order[turn] = threadIdx.x;
    __threadfence_block();
    turn = turn + 1;
}
