// spmv_ell.cu -- a sparse matrix in columns of equal length; -1 marks what is missing
extern "C" __global__ void spmv_ell(float* y, const int* columns, const float* values,
    const float* x, int rows, int width)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        const int column = columns[k * rows + row];
        if (column >= 0) sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}
