// matrix_guard.cu -- a ragged matrix, guarded on both axes
//
// twin: width_and_height_swapped
// launch: grid=2x4 block=16x16
// arguments: out float y 60x20; in float x 60x20 uniform; int height=60; int width=20
// result: y = x + 1

extern "C" __global__ void matrix_guard(float* y, const float* x, int height, int width)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < height && col < width) {
        y[row * width + col] = x[row * width + col] + 1.0f;
    }
}
