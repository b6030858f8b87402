// gemv_tiles.cu -- a matrix times a vector, the vector in tiles
extern "C" __global__ void gemv_tiles(float* y, const float* A, const float* x, int m, int n)
{
    __shared__ float part[64];
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        part[threadIdx.x] = first + threadIdx.x < n ? x[first + threadIdx.x] : 0;
        __syncthreads();
        if (row < m)
            for (int k = 0; k < blockDim.x && first + k < n; ++k)
                sum += A[(size_t)row * n + first + k] * part[k];
        __syncthreads();
    }
    if (row < m) y[row] = sum;
}
