// lane_inside_its_mask.cu -- all 32 lanes shuffle by a mask of 32
//
// twin: lane_outside_its_mask
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100
// result: y = np.full(32, x[3])

extern "C" __global__ void lane_inside_its_mask(int* y, const int* x)
{
    const int lane = threadIdx.x;
    y[lane] = __shfl_sync(0xffffffffu, x[lane], 3);
}
