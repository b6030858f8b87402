// counter_plain_increment.cu -- WRONG ON PURPOSE: every thread that finds a positive value increments one counter, without an
//     atomic
//
// fault: race
// array: count
// launch: grid=4 block=64
// arguments: inout int count 1 zeros; in float x 250 uniform; int n=250

extern "C" __global__ void counter_plain_increment(int* count, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) {
        *count += 1; // <- here
    }
}
