// %%kernel tile_product
__global__ void tile_product(float* C, const float* A, const float* B,
                             int rows, int cols, int inner)
{
    const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    if (r >= rows || c >= cols) return;
    float sum = 0.0f;
    for (int k = 0; k < inner; ++k) sum += A[r * inner + k] * B[k * cols + c];
    C[r * cols + c] = sum;
}
