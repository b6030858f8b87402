// zeros_counted_behind_a_barrier.cu -- a block sorts by one bit after the other
//
// twin: zeros_read_before_they_are_counted
// launch: grid=1 block=96
// arguments: out unsigned sorted 96; in unsigned x 96 below=256
// result: sorted = np.sort(x)

__device__ int sum_before(int value, int* scratch)
{
    const int t = threadIdx.x;
    scratch[t] = value;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const int left = t >= step ? scratch[t - step] : 0;
        __syncthreads();
        scratch[t] += left;
        __syncthreads();
    }
    return scratch[t] - value;
}

extern "C" __global__ void zeros_counted_behind_a_barrier(unsigned* sorted, const unsigned* x)
{
    __shared__ int scratch[96];
    __shared__ unsigned keys[96];
    __shared__ int zeros;
    const int t = threadIdx.x;
    unsigned key = x[t];
    for (int bit = 0; bit < 8; ++bit) {
        const int is_zero = (key >> bit & 1) == 0;
        const int rank = sum_before(is_zero, scratch);
        if (t == 95) {
            zeros = rank + is_zero;
        }
        __syncthreads();
        keys[is_zero ? rank : zeros + t - rank] = key;
        __syncthreads();
        key = keys[t];
    }
    sorted[t] = key;
}
