// histogram_warps.cu -- a histogram of bytes, one for each warp in shared memory, four bytes at a
// time
#define WARPS 4
#define BINS 64
extern "C" __global__ void histogram_warps(unsigned* total, const uchar4* data, int n4)
{
    __shared__ unsigned hist[WARPS][BINS];
    unsigned* mine = hist[threadIdx.x / 32];
    for (int b = threadIdx.x % 32; b < BINS; b += 32) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        uchar4 v = data[i];
        atomicAdd(mine + (v.x >> 2), 1);
        atomicAdd(mine + (v.y >> 2), 1);
        atomicAdd(mine + (v.z >> 2), 1);
        atomicAdd(mine + (v.w >> 2), 1);
    }
    __syncthreads();
    if (threadIdx.x < BINS) {
        unsigned sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) sum += hist[w][threadIdx.x];
        atomicAdd(&total[threadIdx.x], sum);
    }
}
