// dp4a_product.cu -- a product of bytes by four multiplications in one instruction
extern "C" __global__ void dp4a_product(int* C, const int* A, const int* B, int m, int n, int quads)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    int sum = 0;
    for (int k = 0; k < quads; ++k) sum = __dp4a(A[row * quads + k], B[col * quads + k], sum);
    C[row * n + col] = sum;
}
