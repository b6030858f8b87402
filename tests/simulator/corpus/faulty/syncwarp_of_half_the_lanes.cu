// syncwarp_of_half_the_lanes.cu -- WRONG ON PURPOSE: all lanes wait at a __syncwarp that names half of them
//
// fault: mask
// also: race uninitialised
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100

extern "C" __global__ void syncwarp_of_half_the_lanes(int* y, const int* x)
{
    __shared__ int cells[32];
    const int lane = threadIdx.x;
    cells[lane] = x[lane];
    __syncwarp(0x0000ffffu); // <- here
    y[lane] = cells[31 - lane];
}
