// warp_sums_read_too_early.cu -- WRONG ON PURPOSE: the first warp reads the other warps' sums before they are there
//
// fault: race
// also: uninitialised
// array: sums
// launch: grid=2 block=256
// arguments: out int y 2; in int x 512 below=100

__device__ int warp_sum(int value)
{
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, step);
    }
    return value; // the sum in lane 0
}

extern "C" __global__ void warp_sums_read_too_early(int* y, const int* x)
{
    __shared__ int sums[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int sum = warp_sum(x[blockIdx.x * blockDim.x + t]);
    if (lane == 0) {
        sums[warp] = sum; // <- here
    }
    if (warp == 0) {
        const int total = warp_sum(lane < 8 ? sums[lane] : 0); // <- here
        if (lane == 0) {
            y[blockIdx.x] = total;
        }
    }
}
