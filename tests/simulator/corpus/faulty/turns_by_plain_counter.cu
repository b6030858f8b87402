// turns_by_plain_counter.cu -- WRONG ON PURPOSE: the compiler loads the counter once, before the loop that waits for it
//
// fault: runaway
// launch: grid=1 block=32
// arguments: out int order 32

extern "C" __global__ void turns_by_plain_counter(int* order)
{
    __shared__ int turn;
    if (threadIdx.x == 0) {
        turn = 0;
    }
    __syncthreads();
    while (turn != threadIdx.x) { // <- here
    } // <- here
    order[turn] = threadIdx.x; // <- here
    turn = turn + 1; // <- here
}
