// ticket_counter_never_set.cu -- WRONG ON PURPOSE: blocks draw tickets from a counter in fresh memory
//
// fault: uninitialised
// also: unwritten
// array: next
// launch: grid=4 block=32
// arguments: out int y 128; scratch int next 1; in int x 128 below=100

extern "C" __global__ void ticket_counter_never_set(int* y, int* next, const int* x)
{
    __shared__ int ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(next, 1); // <- here
    }
    __syncthreads();
    if (ticket < 0 || ticket >= 4) return; // a ticket from leftovers may be anything
    const int i = ticket * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}
