// last_rows_of_tiles.cu -- WRONG ON PURPOSE: 34 rows by tiles of 16: two rows are left over
//
// fault: unwritten
// array: y
// launch: grid=2x2 block=16x16
// arguments: out float y 34x34; in float x 34x34 uniform; int size=34

extern "C" __global__ void last_rows_of_tiles(float* y, const float* x, int size)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < size && col < size) {
        y[row * size + col] = fmaxf(x[row * size + col], 0.0f); // <- here
    }
}
