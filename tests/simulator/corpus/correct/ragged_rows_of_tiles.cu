// ragged_rows_of_tiles.cu -- 34 rows by tiles of 16: three tiles, the last one ragged
//
// twin: last_rows_of_tiles
// launch: grid=3x3 block=16x16
// arguments: out float y 34x34; in float x 34x34 uniform; int size=34
// result: y = np.maximum(x, 0)

extern "C" __global__ void ragged_rows_of_tiles(float* y, const float* x, int size)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < size && col < size) {
        y[row * size + col] = fmaxf(x[row * size + col], 0.0f);
    }
}
