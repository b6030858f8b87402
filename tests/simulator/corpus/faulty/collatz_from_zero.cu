// collatz_from_zero.cu -- WRONG ON PURPOSE: the sequence that starts at 0 stays at 0
//
// fault: runaway
// launch: grid=1 block=64
// arguments: inout int y 64 zeros; int start=0

extern "C" __global__ void collatz_from_zero(int* y, int start)
{
    unsigned value = start + threadIdx.x; // <- here
    int steps = 0;
    while (value != 1) { // <- here
        value = value % 2 == 0 ? value / 2 : 3 * value + 1; // <- here
        ++steps; // <- here
    }
    y[threadIdx.x] = steps;
}
