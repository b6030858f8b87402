// %%kernel gemm_flat -DROWS=4 -DCOLS=64 -DSTEP=16
__global__ void gemm_flat(float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[ROWS][STEP], tile_x[STEP][COLS];
    const int tx = threadIdx.x, ty = threadIdx.y;   // block = (COLS, ROWS): a thread for each output
    const int row = blockIdx.y * ROWS + ty, col = blockIdx.x * COLS + tx;
    const float* matrix = X + (size_t)blockIdx.z * inner * cols;
    float sum = 0.0f;
    for (int first = 0; first < inner; first += STEP) {
        tile_a[ty][tx] = row < rows && first + tx < inner ? A[row * inner + first + tx] : 0.0f;
        tile_x[ty][tx] = first + ty < inner && col < cols ? matrix[(first + ty) * cols + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < STEP; ++k) sum += tile_a[ty][k] * tile_x[k][tx];
        __syncthreads();
    }
    if (row < rows && col < cols) Y[((size_t)blockIdx.z * rows + row) * cols + col] = sum;
}
