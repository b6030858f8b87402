// %%kernel tile_product
__global__ void tile_product(float* C, const float* A, const float* B,
                             int rows, int cols, int inner)
{
    //> C = A B: C[r][c] is the sum over k of A[r * inner + k] * B[k * cols + c], for k < inner.
    //> Blocks of 16 x 16 threads. For each 16 values of k stage one tile of A and one of B.
    __shared__ float a[16][16], b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int first = 0; first < inner; first += 16) {
        a[y][x] = r < rows && first + x < inner ? A[r * inner + first + x] : 0.0f;
        b[y][x] = first + y < inner && c < cols ? B[(first + y) * cols + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();    // the next turn fills the tiles again
    }
    if (r < rows && c < cols) C[r * cols + c] = sum;
    //<
}
