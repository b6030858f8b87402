// row_pointer_past_end.cu -- WRONG ON PURPOSE: one row too many of a sparse matrix
//
// fault: out-of-bounds
// array: first
// launch: grid=1 block=64
// arguments: out float y 41; in int first 41 zeros; in float values 120 uniform; int rows=40

extern "C" __global__ void row_pointer_past_end(
    float* y, const int* first, const float* values, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row <= rows) {
        float sum = 0.0f;
        for (int k = first[row]; k < first[row + 1]; ++k) { // <- here
            sum += values[k];
        }
        y[row] = sum;
    }
}
