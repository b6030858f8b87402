// %%kernel sum_table
__global__ void sum_table(float* T, const float* column, const float* row,
                          int width, int height, int pitch)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) T[y * pitch + x] = column[y] + row[x];
}
