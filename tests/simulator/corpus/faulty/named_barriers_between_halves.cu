// named_barriers_between_halves.cu -- WRONG ON PURPOSE: each half has a barrier of its own, and reads what the other half stores
//
// fault: race
// array: s
// launch: grid=1 block=128
// arguments: out int y 128; in int x 128 below=99

extern "C" __global__ void named_barriers_between_halves(int* y, const int* x)
{
    __shared__ int s[128];
    const int t = threadIdx.x;
    s[t] = x[t]; // <- here
    if (t < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
    }
    y[t] = s[127 - t]; // <- here
}
