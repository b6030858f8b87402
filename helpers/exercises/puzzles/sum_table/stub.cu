// %%kernel sum_table
__global__ void sum_table(float* T, const float* column, const float* row,
                          int width, int height, int pitch)
{
    // T has height rows of width cells: the one in row y and column x is column[y] + row[x].
    // Its rows begin `pitch` cells apart; what lies between them must stay as it is.
}
