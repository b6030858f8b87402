// radix_split.cu -- a block sorts by one bit after the other
__device__ int exclusive_scan(int value, int *tmp)
{
    int t = threadIdx.x;
    tmp[t] = value;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int add = t >= d ? tmp[t - d] : 0;
        __syncthreads();
        tmp[t] += add;
        __syncthreads();
    }
    return tmp[t] - value;
}
extern "C" __global__ void radix_split(unsigned *keys)
{
    extern __shared__ int tmp[];
    __shared__ int zeros;
    int t = threadIdx.x;
    unsigned key = keys[t];
    for (int bit = 0; bit < 8; ++bit) {
        int is_zero = !((key >> bit) & 1);
        int rank = exclusive_scan(is_zero, tmp);
        if (t == blockDim.x - 1)
            zeros = rank + is_zero;
        __syncthreads();
        int to = is_zero ? rank : zeros + t - rank;
        tmp[to] = key;
        __syncthreads();
        key = tmp[t];
        __syncthreads();
    }
    keys[t] = key;
}
