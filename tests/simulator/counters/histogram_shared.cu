// histogram_shared.cu -- atomics in the block's own bins, then one in global memory a bin; block = 256 threads
extern "C" __global__ void histogram_shared(unsigned* bins, const unsigned char* in, int n)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
