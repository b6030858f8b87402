// %%kernel sum_table
__global__ void sum_table(float* T, const float* column, const float* row,
                          int width, int height, int pitch)
{
    const int y = threadIdx.y + blockIdx.y * 8;
    if (y >= height) return;
    float* line = T + (size_t)y * pitch;
    const float left = column[y];
    for (int x = threadIdx.x + blockIdx.x * 32; x < width; x += 32 * gridDim.x)
        line[x] = row[x] + left;
}
