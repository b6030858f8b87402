// %%kernel sum_table
__global__ void sum_table(float* T, const float* column, const float* row,
                          int width, int height, int pitch)
{
    //> T has height rows of width cells: the one in row y and column x is column[y] + row[x].
    //> Its rows begin `pitch` cells apart; what lies between them must stay as it is.
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) T[y * pitch + x] = column[y] + row[x];
    //<
}
