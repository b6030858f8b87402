// conv2d_plane.cu -- a 5 x 5 filter from constant memory over a tile with its halo
#define TILE 16
#define R 2
__constant__ float filter[2 * R + 1][2 * R + 1];

extern "C" __global__ void conv2d_plane(float* out, const float* in, int height, int width)
{
    __shared__ float tile[TILE + 2 * R][TILE + 2 * R];
    const int left = blockIdx.x * TILE - R, top = blockIdx.y * TILE - R;
    for (int y = threadIdx.y; y < TILE + 2 * R; y += TILE)
        for (int x = threadIdx.x; x < TILE + 2 * R; x += TILE) {
            const int gx = left + x, gy = top + y;
            tile[y][x] = gx >= 0 && gy >= 0 && gx < width && gy < height ? in[gy * width + gx] : 0.0f;
        }
    __syncthreads();
    const int x = left + R + threadIdx.x, y = top + R + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int p = 0; p <= 2 * R; ++p)
        for (int q = 0; q <= 2 * R; ++q) sum += filter[p][q] * tile[threadIdx.y + p][threadIdx.x + q];
    out[y * width + x] = sum;
}
