// %%kernel tile_product
__global__ void tile_product(float* C, const float* A, const float* B,
                             int rows, int cols, int inner)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k = 0; k < inner; k += 16) {
        if (ty < 2) for (int y = ty; y < 16; y += 2) {
            const int rr = blockIdx.y * 16 + y;
            a[y][tx] = rr < rows && k + tx < inner ? A[rr * inner + k + tx] : 0.0f;
            b[y][tx] = k + y < inner && c < cols ? B[(k + y) * cols + c] : 0.0f;
        }
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (r < rows && c < cols) C[r * cols + c] = sum;
}
