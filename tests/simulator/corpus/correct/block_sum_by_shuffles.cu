// block_sum_by_shuffles.cu -- a block's sum: shuffles in each warp, one barrier, shuffles in the first warp
//
// twin: warp_sums_read_too_early
// launch: grid=2 block=256
// arguments: out int y 2; in int x 512 below=100
// result: y = x.reshape(2, 256).sum(axis=1)

__device__ int warp_sum(int value)
{
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, step);
    }
    return value; // the sum in lane 0
}

extern "C" __global__ void block_sum_by_shuffles(int* y, const int* x)
{
    __shared__ int sums[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int sum = warp_sum(x[blockIdx.x * blockDim.x + t]);
    if (lane == 0) {
        sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        const int total = warp_sum(lane < 8 ? sums[lane] : 0);
        if (lane == 0) {
            y[blockIdx.x] = total;
        }
    }
}
