// spmv_scalar.cu -- sparse matrix (CSR) times vector, a thread for each row
extern "C" __global__ void spmv_scalar(float* y, const int* rowptr, const int* col,
                                       const float* val, const float* x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float dot = 0;
        int row_start = rowptr[row], row_end = rowptr[row + 1];
        for (int j = row_start; j < row_end; j++) dot += val[j] * x[col[j]];
        y[row] += dot;
    }
}
