// %%kernel tile_product
__global__ void tile_product(float* C, const float* A, const float* B,
                             int rows, int cols, int inner)
{
    // C = A B: C[r][c] is the sum over k of A[r * inner + k] * B[k * cols + c], for k < inner.
    // Blocks of 16 x 16 threads. For each 16 values of k stage one tile of A and one of B.
}
