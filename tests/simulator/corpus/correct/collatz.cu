// collatz.cu -- lengths of Collatz sequences: lanes of a warp leave the loop one by one
//
// twin: collatz_from_zero
// launch: grid=1 block=64
// arguments: out int y 64; int start=1
// result: y = [collatz(start + t) for t in range(64)]

extern "C" __global__ void collatz(int* y, int start)
{
    unsigned value = start + threadIdx.x;
    int steps = 0;
    while (value != 1) {
        value = value % 2 == 0 ? value / 2 : 3 * value + 1;
        ++steps;
    }
    y[threadIdx.x] = steps;
}
