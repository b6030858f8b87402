// row_overrun_inside_tile.cu -- WRONG ON PURPOSE: column 16 of a row of 16 is column 0 of the next row: inside the array, and
//     wrong
//
// fault: out-of-bounds
// array: tile
// launch: grid=1 block=16x16
// arguments: out float y 16x16; in float x 16x16 uniform

extern "C" __global__ void row_overrun_inside_tile(float* y, const float* x)
{
    __shared__ float tile[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[ty * 16 + tx];
    __syncthreads();
    y[ty * 16 + tx] = ty < 15 ? tile[ty][tx + 1] : tile[ty][tx]; // <- here
}
