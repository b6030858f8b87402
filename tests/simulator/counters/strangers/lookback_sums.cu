// lookback_sums.cu -- one pass: each block adds what the block before has published
extern "C" __global__ void lookback_sums(int* out, volatile int* totals, volatile int* ready,
    const int* in, int n)
{
    __shared__ int warps[8];
    __shared__ int before;
    const int t = threadIdx.x, lane = t % 32, i = blockIdx.x * blockDim.x + t;
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) warps[t / 32] = v;
    __syncthreads();
    for (int w = 0; w < t / 32; ++w) v += warps[w];
    if (t == blockDim.x - 1) {
        int sum = 0;
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0) { }
            __threadfence();
            sum = totals[blockIdx.x - 1];
        }
        totals[blockIdx.x] = sum + v;
        __threadfence();
        ready[blockIdx.x] = 1;
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = v + before;
}
