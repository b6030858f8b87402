// matmul_tiled.cu -- tiles of A and B in shared memory; sizes need not be multiples of TILE
#ifndef TILE
#define TILE 16
#endif

extern "C" __global__ void matmul_tiled(float* C, const float* A, const float* B, int rows, int inner, int columns)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE) {
        a[ty][tx] = y < rows && first + tx < inner ? A[y * inner + first + tx] : 0.0f;
        b[ty][tx] = first + ty < inner && x < columns ? B[(first + ty) * columns + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (y < rows && x < columns) C[y * columns + x] = sum;
}
