// unsigned_countdown.cu -- WRONG ON PURPOSE: an unsigned counter is never below zero: the loop that counts down to it has no
//     end
//
// fault: runaway
// launch: grid=1 block=32
// arguments: inout int y 32x10 zeros; int n=10

extern "C" __global__ void unsigned_countdown(int* y, int n)
{
    int* row = y + threadIdx.x * n;
    for (unsigned k = n - 1; k >= 0; --k) { // <- here
        row[k % n] = k % n; // <- here
    } // <- here
}
