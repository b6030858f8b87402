// matmul_naive.cu -- one thread per cell of C, rows of A and columns of B from global memory
extern "C" __global__ void matmul_naive(float* C, const float* A, const float* B, int rows, int inner, int columns)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < inner; ++k) sum += A[y * inner + k] * B[k * columns + x];
    C[y * columns + x] = sum;
}
