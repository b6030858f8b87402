// %%kernel flip_rows
__global__ void flip_rows(float* P, const float* N, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) P[(height - 1 - y) * width + x] = N[y * width + x];
}
