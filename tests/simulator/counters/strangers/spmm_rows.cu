// spmm_rows.cu -- a sparse matrix times a dense one: a warp for a row, a lane for a column
extern "C" __global__ void spmm_rows(float* Y, const int* starts, const int* columns,
    const float* values, const float* X, int rows, int width)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int first = starts[row], last = starts[row + 1];
    for (int c = threadIdx.x; c < width; c += 32) {
        float sum = 0.0f;
        for (int k = first; k < last; ++k) sum += values[k] * X[columns[k] * width + c];
        Y[row * width + c] = sum;
    }
}
