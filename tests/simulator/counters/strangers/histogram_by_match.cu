// histogram_by_match.cu -- lanes with one key elect the lowest, which adds for all of them
#define BINS 64
extern "C" __global__ void histogram_by_match(unsigned* bins, const unsigned char* x, int n)
{
    __shared__ unsigned own[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int first = blockIdx.x * blockDim.x; first < n; first += gridDim.x * blockDim.x) {
        const int i = first + threadIdx.x;
        const unsigned there = __ballot_sync(~0u, i < n);
        if (i < n) {
            const unsigned alike = __match_any_sync(there, x[i] % BINS);
            const int leader = __ffs(alike) - 1;
            if ((threadIdx.x & 31) == leader) atomicAdd(&own[x[i] % BINS], __popc(alike));
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (own[b]) atomicAdd(&bins[b], own[b]);
}
