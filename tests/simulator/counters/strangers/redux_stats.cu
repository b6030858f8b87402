// redux_stats.cu -- sums, extremes and bits of a warp by __reduce_*_sync, results by shared atomics
extern "C" __global__ void redux_stats(int* stats, const int* x, int n)
{
    __shared__ int s[4];
    if (threadIdx.x < 4)
        s[threadIdx.x] = threadIdx.x == 1 ? 0x7fffffff : threadIdx.x == 2 ? 0x80000000 : 0;
    __syncthreads();
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        int i = base + threadIdx.x;
        int v = i < n ? x[i] : x[n - 1];
        int sum = __reduce_add_sync(0xffffffff, i < n ? v : 0);
        int low = __reduce_min_sync(0xffffffff, v), high = __reduce_max_sync(0xffffffff, v);
        unsigned bits = __reduce_or_sync(0xffffffff, (unsigned)v);
        if ((threadIdx.x & 31) == 0) {
            atomicAdd(&s[0], sum);
            atomicMin(&s[1], low);
            atomicMax(&s[2], high);
            atomicOr((unsigned*)&s[3], bits);
        }
    }
    __syncthreads();
    if (threadIdx.x < 4) stats[blockIdx.x * 4 + threadIdx.x] = s[threadIdx.x];
}
