// transpose_diagonal.cu -- blocks are numbered along diagonals; tiles have a padding column
#define TILE 16
extern "C" __global__ void transpose_diagonal(double* out, const double* in, int width, int height)
{
    __shared__ double tile[TILE][TILE + 1];
    int bx, by;
    if (width == height) {
        by = blockIdx.x;
        bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    } else {
        const int id = blockIdx.x + gridDim.x * blockIdx.y;
        by = id % gridDim.y;
        bx = (id / gridDim.y + by) % gridDim.x;
    }
    const int x = bx * TILE + threadIdx.x, y = by * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += blockDim.y)
        if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(y +
            i) * width + x];
    __syncthreads();
    const int tx = by * TILE + threadIdx.x, ty = bx * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += blockDim.y)
        if (tx < height && ty + i < width) out[(ty + i) * height + tx] =
            tile[threadIdx.x][threadIdx.y + i];
}
