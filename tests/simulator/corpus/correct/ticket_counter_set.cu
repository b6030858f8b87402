// ticket_counter_set.cu -- blocks draw tickets from a counter that starts at zero
//
// twin: ticket_counter_never_set
// launch: grid=4 block=32
// arguments: out int y 128; inout int next 1 zeros; in int x 128 below=100
// result: y = 2 * x

extern "C" __global__ void ticket_counter_set(int* y, int* next, const int* x)
{
    __shared__ int ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(next, 1);
    }
    __syncthreads();
    const int i = ticket * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}
