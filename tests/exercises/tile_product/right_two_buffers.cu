// %%kernel tile_product
__global__ void tile_product(float* C, const float* A, const float* B,
                             int rows, int cols, int inner)
{
    // Two pairs of tiles by turns: the barrier of the next turn is enough.
    __shared__ float tiles[2][2][256];
    const int x = threadIdx.x, y = threadIdx.y, at = 16 * y + x;
    const int r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float sum = 0.0f;
    int turn = 0;
    for (int left = inner; left > 0; left -= 16, turn ^= 1) {
        float* a = tiles[turn][0];
        float* b = tiles[turn][1];
        const int k0 = inner - left, most = min(left, 16);
        if (r < rows && x < most) a[at] = A[r * inner + k0 + x];
        if (c < cols && y < most) b[at] = B[(k0 + y) * cols + c];
        __syncthreads();
        if (r < rows && c < cols)
            for (int k = 0; k < most; ++k) sum += a[16 * y + k] * b[16 * k + x];
    }
    if (r < rows && c < cols) C[r * cols + c] = sum;
}
