// spmv_jds.cu -- a sparse matrix in jagged diagonals: rows sorted by length, a thread a row
extern "C" __global__ void spmv_jds(const int* start, const int* column, const float* value,
                                    const int* row_of, const float* x, float* y, int rows,
                                    int longest)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int d = 0; d < longest; ++d) {
            const int first = start[d];
            if (first + r >= start[d + 1]) break;
            sum += value[first + r] * x[column[first + r]];
        }
        y[row_of[r]] = sum;
    }
}
