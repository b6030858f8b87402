// matmul_ragged_inner.cu -- WRONG ON PURPOSE: the tile of B is guarded by columns only: the inner dimension is ragged too
//
// fault: out-of-bounds
// array: B
// launch: grid=2x3 block=8x8
// arguments: out float C 19x13; in float A 19x21 integers; in float B 21x13 integers; int rows=19; int inner=21; int cols=13

#define T 8

extern "C" __global__ void matmul_ragged_inner(float* C, const float* A, const float* B, int rows, int inner, int cols)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int start = 0; start < inner; start += T) {
        a[ty][tx] = row < rows && start + tx < inner ? A[row * inner + start + tx] : 0.0f;
        b[ty][tx] = col < cols ? B[(start + ty) * cols + col] : 0.0f; // <- here
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            sum += a[ty][k] * b[k][tx];
        }
        __syncthreads();
    }
    if (row < rows && col < cols) {
        C[row * cols + col] = sum;
    }
}
