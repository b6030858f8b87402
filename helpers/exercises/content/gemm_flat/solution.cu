// %%kernel gemm_flat -DROWS=4 -DCOLS=64 -DSTEP=16
__global__ void gemm_flat(float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[ROWS][STEP];            // [row of the tile][step along inner]
    __shared__ float tile_x[STEP][COLS];            // [step along inner][column of the tile]
    const int tx = threadIdx.x, ty = threadIdx.y;   // block = (COLS, ROWS): a thread for each output
    const int row = blockIdx.y * ROWS + ty, col = blockIdx.x * COLS + tx;
    const float* matrix = X + (size_t)blockIdx.z * inner * cols;   // that of this block's image
    float sum = 0.0f;
    for (int first = 0; first < inner; first += STEP) {
        //> Load tile_a, 4 x 16 numbers of A, and tile_x, 16 x 64 of X, by 64 x 4 threads. A number
        //> beyond the end of a matrix counts as 0.
        if (tx < STEP)
            tile_a[ty][tx] = row < rows && first + tx < inner ? A[row * inner + first + tx] : 0.0f;
        for (int i = ty; i < STEP; i += ROWS)
            tile_x[i][tx] = first + i < inner && col < cols ? matrix[(first + i) * cols + col] : 0.0f;
        //<

        //> Add the 16 products of this step to sum. Where do you need a barrier?
        __syncthreads();
        for (int k = 0; k < STEP; ++k) sum += tile_a[ty][k] * tile_x[k][tx];
        __syncthreads();
        //<
    }
    if (row < rows && col < cols) Y[((size_t)blockIdx.z * rows + row) * cols + col] = sum;
}
