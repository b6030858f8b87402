// transpose_padded.cu -- a transpose through a padded tile, ragged on both axes
//
// twin: transpose_without_barrier
// launch: grid=2x2 block=16x16
// arguments: out float y 30x20; in float x 20x30 uniform; int height=20; int width=30
// result: y = x.T

extern "C" __global__ void transpose_padded(float* y, const float* x, int height, int width)
{
    __shared__ float tile[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    if (row < height && col < width) {
        tile[ty][tx] = x[row * width + col];
    }
    __syncthreads();
    const int to_col = blockIdx.y * 16 + tx, to_row = blockIdx.x * 16 + ty;
    if (to_row < width && to_col < height) {
        y[to_row * height + to_col] = tile[tx][ty];
    }
}
