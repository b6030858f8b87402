// shuffle_from_returned_lane.cu -- WRONG ON PURPOSE: odd lanes have returned, and even lanes fetch from them
//
// fault: shuffle
// also: mask unwritten
// launch: grid=1 block=32
// arguments: out int y 16; in int x 32 below=100

extern "C" __global__ void shuffle_from_returned_lane(int* y, const int* x)
{
    const int lane = threadIdx.x;
    if (lane % 2 == 1) {
        return;
    }
    const int other = __shfl_xor_sync(0x55555555u, x[lane], 1); // <- here
    y[lane / 2] = other;
}
