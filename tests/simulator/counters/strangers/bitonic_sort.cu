// bitonic_sort.cu -- keys and values sorted in shared memory, one tile a block
__device__ inline void comparator(unsigned& keyA, unsigned& valA, unsigned& keyB, unsigned& valB,
                                  unsigned dir)
{
    unsigned t;
    if ((keyA > keyB) == dir) {
        t = keyA;
        keyA = keyB;
        keyB = t;
        t = valA;
        valA = valB;
        valB = t;
    }
}

#ifndef SIZE
#define SIZE 256
#endif
extern "C" __global__ void bitonic_sort(unsigned* keys, unsigned* vals)
{
    __shared__ unsigned s_key[SIZE];
    __shared__ unsigned s_val[SIZE];
    keys += blockIdx.x * SIZE + threadIdx.x;
    vals += blockIdx.x * SIZE + threadIdx.x;
    s_key[threadIdx.x] = keys[0];
    s_val[threadIdx.x] = vals[0];
    s_key[threadIdx.x + SIZE / 2] = keys[SIZE / 2];
    s_val[threadIdx.x + SIZE / 2] = vals[SIZE / 2];
    for (unsigned size = 2; size < SIZE; size <<= 1) {
        unsigned ddd = 1 ^ ((threadIdx.x & (size / 2)) != 0);
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
        }
    }
    for (unsigned stride = SIZE / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], 1);
    }
    __syncthreads();
    keys[0] = s_key[threadIdx.x];
    vals[0] = s_val[threadIdx.x];
    keys[SIZE / 2] = s_key[threadIdx.x + SIZE / 2];
    vals[SIZE / 2] = s_val[threadIdx.x + SIZE / 2];
}
