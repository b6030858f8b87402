// width_and_height_swapped.cu -- WRONG ON PURPOSE: the guard compares the row with the width and the column with the height
//
// fault: out-of-bounds
// also: unwritten
// array: x
// launch: grid=4x4 block=16x16
// arguments: out float y 20x60; in float x 20x60 uniform; int height=20; int width=60

extern "C" __global__ void width_and_height_swapped(float* y, const float* x, int height, int width)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < width && col < height) {
        y[row * width + col] = x[row * width + col] + 1.0f; // <- here
    }
}
