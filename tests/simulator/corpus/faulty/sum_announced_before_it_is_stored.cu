// sum_announced_before_it_is_stored.cu -- WRONG ON PURPOSE: the next block may find the flag before the sum
//
// fault: race
// array: sum
// launch: grid=8 block=64
// arguments: out int y 512; inout int sum 8 zeros; inout int flag 8 zeros; in int x 512 below=9

extern "C" __global__ void sum_announced_before_it_is_stored(int* y, volatile int* sum, volatile int* flag, const int* x)
{
    __shared__ int s[64];
    __shared__ int before;
    const int t = threadIdx.x;
    const int b = blockIdx.x;
    s[t] = x[b * 64 + t];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        const int left = t >= step ? s[t - step] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        if (b > 0) {
            while (flag[b - 1] == 0) {
            }
            __threadfence();
            before = sum[b - 1]; // <- here
        }
        flag[b] = 1;
        __threadfence();
        sum[b] = before + s[63]; // <- here
    }
    __syncthreads();
    y[b * 64 + t] = before + s[t];
}
