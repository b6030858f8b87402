// matmul_two_barriers.cu -- tiled matrix product: one barrier after the loads, one before the next
//
// twin: matmul_second_barrier_missing
// launch: grid=2x2 block=16x16
// arguments: out float C 32x32; in float A 32x32 integers; in float B 32x32 integers; int n=32
// result: C = A @ B

#define T 16

extern "C" __global__ void matmul_two_barriers(float* C, const float* A, const float* B, int n)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += T) {
        a[ty][tx] = A[row * n + start + tx];
        b[ty][tx] = B[(start + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            sum += a[ty][k] * b[k][tx];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}
