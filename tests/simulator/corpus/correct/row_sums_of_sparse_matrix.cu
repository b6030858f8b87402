// row_sums_of_sparse_matrix.cu -- a thread for each row of a sparse matrix, and no more
//
// twin: row_pointer_past_end
// launch: grid=1 block=64
// arguments: out float y 40; in int first 41 zeros; in float values 120 uniform; int rows=40
// result: y = np.zeros(40)

extern "C" __global__ void row_sums_of_sparse_matrix(
    float* y, const int* first, const float* values, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int k = first[row]; k < first[row + 1]; ++k) {
            sum += values[k];
        }
        y[row] = sum;
    }
}
