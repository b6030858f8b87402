// shuffle_down_past_half_warp.cu -- WRONG ON PURPOSE: lanes 8 to 15 fetch from lanes 16 to 23, which are not in the mask
//
// fault: shuffle
// also: mask
// launch: grid=1 block=32
// arguments: inout int y 1 zeros; in int x 32 below=100

extern "C" __global__ void shuffle_down_past_half_warp(int* y, const int* x)
{
    const int lane = threadIdx.x;
    if (lane < 16) {
        int sum = x[lane];
        for (int step = 8; step > 0; step /= 2) {
            sum += __shfl_down_sync(0x0000ffffu, sum, step); // <- here
        }
        if (lane == 0) {
            *y = sum;
        }
    }
}
