// middle_axis_overrun.cu -- WRONG ON PURPOSE: the middle axis of a shared array takes one index too many, and stays inside
//     the array
//
// fault: out-of-bounds
// array: planes
// launch: grid=1 block=8x4
// arguments: out float y 2x4x8; in float x 2x4x8 uniform

extern "C" __global__ void middle_axis_overrun(float* y, const float* x)
{
    __shared__ float planes[2][4][8];
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (int plane = 0; plane < 2; ++plane) {
        planes[plane][ty][tx] = x[(plane * 4 + ty) * 8 + tx];
    }
    __syncthreads();
    for (int plane = 0; plane < 2; ++plane) {
        y[(plane * 4 + ty) * 8 + tx] = planes[1 - plane][4 - ty][tx]; // <- here
    }
}
