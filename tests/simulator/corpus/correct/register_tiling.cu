// register_tiling.cu -- each thread computes 2x2 outputs of a matrix product from a tile
//
// launch: grid=2x2 block=8x8
// arguments: out float C 32x32; in float A 32x32 integers; in float B 32x32 integers; int n=32
// result: C = A @ B

#define T 16

extern "C" __global__ void register_tiling(float* C, const float* A, const float* B, int n)
{
    __shared__ float a[T][T + 1], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 8 + tx;
    const int top = blockIdx.y * T, left = blockIdx.x * T;
    float sum[2][2] = {};
    for (int start = 0; start < n; start += T) {
        for (int k = t; k < T * T; k += 64) {
            a[k / T][k % T] = A[(top + k / T) * n + start + k % T];
            b[k / T][k % T] = B[(start + k / T) * n + left + k % T];
        }
        __syncthreads();
        for (int k = 0; k < T; ++k) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    sum[r][c] += a[ty + 8 * r][k] * b[k][tx + 8 * c];
                }
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 2; ++c) {
            C[(top + ty + 8 * r) * n + left + tx + 8 * c] = sum[r][c];
        }
    }
}
