// lu_block.cu -- elimination without pivots in a block of 16 x 16 threads
#define N 16
extern "C" __global__ void lu_block(float* matrix)
{
    __shared__ float a[N][N + 1];
    const int r = threadIdx.y, c = threadIdx.x;
    a[r][c] = matrix[r * N + c];
    __syncthreads();
    for (int k = 0; k < N - 1; ++k) {
        if (c == k && r > k) a[r][k] /= a[k][k];
        __syncthreads();
        if (r > k && c > k) a[r][c] -= a[r][k] * a[k][c];
        __syncthreads();
    }
    matrix[r * N + c] = a[r][c];
}
