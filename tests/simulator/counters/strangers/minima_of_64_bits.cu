// minima_of_64_bits.cu -- value and index in one word of 64 bits, the least by an atomic in shared
// memory
extern "C" __global__ void minima_of_64_bits(unsigned long long* best, const unsigned* x, int n,
    int groups)
{
    __shared__ unsigned long long least[32];
    if (threadIdx.x < groups) least[threadIdx.x] = ~0ull;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicMin(&least[i % groups], (unsigned long long)x[i] << 32 | i);
    __syncthreads();
    if (threadIdx.x < groups) atomicMin(&best[threadIdx.x], least[threadIdx.x]);
}
