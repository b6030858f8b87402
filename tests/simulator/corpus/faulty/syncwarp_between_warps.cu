// syncwarp_between_warps.cu -- WRONG ON PURPOSE: __syncwarp orders a warp, but the other half of the pair is in another warp
//
// fault: race
// also: uninitialised
// array: cells
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void syncwarp_between_warps(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    cells[t] = x[t]; // <- here
    __syncwarp();
    y[t] = cells[63 - t]; // <- here
}
