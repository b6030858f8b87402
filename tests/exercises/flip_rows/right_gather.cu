// %%kernel flip_rows
__global__ void flip_rows(float* P, const float* N, int width, int height)
{
    // The thread is named by the output, and looks up where its cell comes from.
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= height || column >= width) return;
    const float* from = N + (height - row - 1) * width;
    P[row * width + column] = from[column];
}
