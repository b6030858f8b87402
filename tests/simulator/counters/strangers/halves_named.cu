// halves_named.cu -- a barrier for each half of the block
extern "C" __global__ void halves_named(const int *x, int *y)
{
    __shared__ int s[128];
    int t = threadIdx.x, half = t / 64;
    s[t] = x[t];
    if (half == 0) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[t] = s[63 - t];
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        y[t] = s[64 + 127 - t] * 10;
    }
}
