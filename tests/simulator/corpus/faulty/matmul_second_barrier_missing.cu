// matmul_second_barrier_missing.cu -- WRONG ON PURPOSE: the next tile is loaded while slower warps still read this one
//
// fault: race
// launch: grid=2x2 block=16x16
// arguments: out float C 32x32; in float A 32x32 integers; in float B 32x32 integers; int n=32

#define T 16

extern "C" __global__ void matmul_second_barrier_missing(float* C, const float* A, const float* B, int n)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += T) {
        a[ty][tx] = A[row * n + start + tx]; // <- here
        b[ty][tx] = B[(start + ty) * n + col]; // <- here
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            sum += a[ty][k] * b[k][tx]; // <- here
        }
    }
    C[row * n + col] = sum;
}
