// collatz.cu -- loops whose trip counts depend on the data, a store in the middle of the loop
extern "C" __global__ void collatz(int* steps, unsigned* peak, const unsigned* start, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n) {
        unsigned v = start[tid], top = v;
        int count = 0;
        while (v != 1 && count < 500) {
            if (v & 1)
                v = 3 * v + 1;
            else
                v >>= 1;
            if (v > top) {
                top = v;
                peak[tid] = top;
            }
            count++;
        }
        steps[tid] = count;
    }
}
