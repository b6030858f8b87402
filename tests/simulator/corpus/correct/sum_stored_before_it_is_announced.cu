// sum_stored_before_it_is_announced.cu -- a scan in one launch: each block waits for the sum of the block before
//
// twin: sum_announced_before_it_is_stored
// launch: grid=8 block=64
// arguments: out int y 512; inout int sum 8 zeros; inout int flag 8 zeros; in int x 512 below=9
// result: y = np.cumsum(x)

extern "C" __global__ void sum_stored_before_it_is_announced(int* y, volatile int* sum, volatile int* flag, const int* x)
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
            before = sum[b - 1];
        }
        sum[b] = before + s[63];
        __threadfence();
        flag[b] = 1;
    }
    __syncthreads();
    y[b * 64 + t] = before + s[t];
}
