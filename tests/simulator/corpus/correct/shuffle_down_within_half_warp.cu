// shuffle_down_within_half_warp.cu -- half a warp reduces with a width of 16: the shuffle stays inside
//
// twin: shuffle_down_past_half_warp
// launch: grid=1 block=32
// arguments: inout int y 1 zeros; in int x 32 below=100
// result: y = [x[:16].sum()]

extern "C" __global__ void shuffle_down_within_half_warp(int* y, const int* x)
{
    const int lane = threadIdx.x;
    if (lane < 16) {
        int sum = x[lane];
        for (int step = 8; step > 0; step /= 2) {
            sum += __shfl_down_sync(0x0000ffffu, sum, step, 16);
        }
        if (lane == 0) {
            *y = sum;
        }
    }
}
