// %%kernel transpose
__global__ void transpose(float* P, const float* N, int width, int height)
{
    //> N has height rows of width cells, P has width rows of height cells:
    //> P[x * height + y] = N[y * width + x]. Blocks of 32 x 32 threads.
    //> The lanes of a warp should be neighbours in N when they load, and in P when they store.
    __shared__ float tile[32][33];    // a column of 32 cells lies in 32 different banks
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = N[y * width + x];
    __syncthreads();

    // The block's tile of P: row and column change places, lanes stand along its rows.
    const int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    if (column < height && row < width) P[row * height + column] = tile[threadIdx.x][threadIdx.y];
    //<
}
