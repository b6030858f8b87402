// volatile_reduce.cu -- the reduction of old samples: volatile shared memory in the last warp
template <unsigned int blockSize> __device__ void warpReduce(volatile int* sdata, unsigned int tid)
{
    if (blockSize >= 64) { sdata[tid] += sdata[tid + 32]; __syncwarp(); }
    if (blockSize >= 32) { sdata[tid] += sdata[tid + 16]; __syncwarp(); }
    if (blockSize >= 16) { sdata[tid] += sdata[tid + 8]; __syncwarp(); }
    if (blockSize >= 8) { sdata[tid] += sdata[tid + 4]; __syncwarp(); }
    if (blockSize >= 4) { sdata[tid] += sdata[tid + 2]; __syncwarp(); }
    if (blockSize >= 2) { sdata[tid] += sdata[tid + 1]; __syncwarp(); }
}

#define SIZE 256
extern "C" __global__ void volatile_reduce(int* g_odata, const int* g_idata, unsigned int n)
{
    __shared__ int sdata[SIZE + 32];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (SIZE * 2) + tid;
    sdata[tid] = 0;
    while (i < n) {
        sdata[tid] += g_idata[i] + (i + SIZE < n ? g_idata[i + SIZE] : 0);
        i += SIZE * 2 * gridDim.x;
    }
    __syncthreads();
    if (tid < 128) sdata[tid] += sdata[tid + 128];
    __syncthreads();
    if (tid < 64) sdata[tid] += sdata[tid + 64];
    __syncthreads();
    if (tid < 32) warpReduce<SIZE>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
