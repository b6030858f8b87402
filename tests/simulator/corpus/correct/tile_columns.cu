// tile_columns.cu -- each thread reads its right neighbour in a row of the tile; the last column reads itself
//
// twin: row_overrun_inside_tile
// launch: grid=1 block=16x16
// arguments: out float y 16x16; in float x 16x16 uniform
// result: y = np.concatenate([x[:, 1:], x[:, -1:]], axis=1)

extern "C" __global__ void tile_columns(float* y, const float* x)
{
    __shared__ float tile[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[ty * 16 + tx];
    __syncthreads();
    y[ty * 16 + tx] = tx < 15 ? tile[ty][tx + 1] : tile[ty][tx];
}
