// syncwarp_of_all_lanes.cu -- all lanes wait at a __syncwarp that names all of them
//
// twin: syncwarp_of_half_the_lanes
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100
// result: y = x[::-1]

extern "C" __global__ void syncwarp_of_all_lanes(int* y, const int* x)
{
    __shared__ int cells[32];
    const int lane = threadIdx.x;
    cells[lane] = x[lane];
    __syncwarp(0xffffffffu);
    y[lane] = cells[31 - lane];
}
