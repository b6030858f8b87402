// boltzmann_stream.cu -- lattice Boltzmann, nine directions: the values move to their neighbours
__constant__ int cx[9], cy[9];
extern "C" __global__ void boltzmann_stream(float* out, const float* in, int rows, int columns)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    for (int q = 0; q < 9; ++q) {
        const int fx = (x - cx[q] + columns) % columns, fy = (y - cy[q] + rows) % rows;
        out[(q * rows + y) * columns + x] = in[(q * rows + fy) * columns + fx];
    }
}
