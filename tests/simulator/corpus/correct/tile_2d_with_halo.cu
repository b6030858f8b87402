// tile_2d_with_halo.cu -- a 2D convolution by tiles with a halo, ragged on both axes, ghost cells zero
//
// launch: grid=3x2 block=8x8
// arguments: out float y 13x19; in float x 13x19 uniform; in float filter 5x5 uniform; int height=13; int width=19
// result: y = conv2d(np.pad(x, 2), filter)
// compare: within 1e-5

#define R 2
#define T 8

extern "C" __global__ void tile_2d_with_halo(float* y, const float* x, const float* filter, int height, int width)
{
    __shared__ float tile[T + 2 * R][T + 2 * R];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int top = blockIdx.y * T - R, left = blockIdx.x * T - R;
    for (int k = ty * T + tx; k < (T + 2 * R) * (T + 2 * R); k += T * T) {
        const int r = k / (T + 2 * R), c = k % (T + 2 * R);
        const bool inside = top + r >= 0 && top + r < height && left + c >= 0 && left + c < width;
        tile[r][c] = inside ? x[(top + r) * width + left + c] : 0.0f;
    }
    __syncthreads();
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    if (row < height && col < width) {
        float sum = 0.0f;
        for (int p = 0; p <= 2 * R; ++p) {
            for (int q = 0; q <= 2 * R; ++q) {
                sum += tile[ty + p][tx + q] * filter[p * (2 * R + 1) + q];
            }
        }
        y[row * width + col] = sum;
    }
}
