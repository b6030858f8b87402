// broadcast_from_skipped_lane.cu -- WRONG ON PURPOSE: lane 0 broadcasts, but lane 0 is not in the branch
//
// fault: shuffle
// also: mask
// launch: grid=1 block=32
// arguments: inout int y 32 zeros; in int x 32 below=100

extern "C" __global__ void broadcast_from_skipped_lane(int* y, const int* x)
{
    const int lane = threadIdx.x;
    if (lane >= 8) {
        const unsigned mask = 0xffffff00u;
        y[lane] = __shfl_sync(mask, x[lane], 0); // <- here
    }
}
