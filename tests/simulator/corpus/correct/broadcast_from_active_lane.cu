// broadcast_from_active_lane.cu -- the lowest lane of the branch broadcasts
//
// twin: broadcast_from_skipped_lane
// launch: grid=1 block=32
// arguments: inout int y 32 zeros; in int x 32 below=100
// result: y = np.where(np.arange(32) >= 8, x[8], 0)

extern "C" __global__ void broadcast_from_active_lane(int* y, const int* x)
{
    const int lane = threadIdx.x;
    if (lane >= 8) {
        const unsigned mask = 0xffffff00u;
        y[lane] = __shfl_sync(mask, x[lane], __ffs(mask) - 1);
    }
}
