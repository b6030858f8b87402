// lane_outside_its_mask.cu -- WRONG ON PURPOSE: all 32 lanes shuffle by a mask of 16
//
// fault: mask
// also: shuffle
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100

extern "C" __global__ void lane_outside_its_mask(int* y, const int* x)
{
    const int lane = threadIdx.x;
    y[lane] = __shfl_sync(0x0000ffffu, x[lane], 3); // <- here
}
