// histogram_of_warps.cu -- a histogram for each warp, added at the end
#define BINS 64
extern "C" __global__ void histogram_of_warps(const unsigned char *x, int *bins, int n)
{
    __shared__ int h[4][BINS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int b = lane; b < BINS; b += 32) h[warp][b] = 0;
    __syncwarp();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[warp][x[i] >> 2], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], h[0][b] + h[1][b] + h[2][b] + h[3][b]);
}
