// blur_columns.cu -- a separable blur's columns: eight results a thread from a tall tile
#define R 4
#define RESULTS 4
#define COLUMNS 16
#define ROWS 4
__constant__ float taps[2 * R + 1];
extern "C" __global__ void blur_columns(float* out, const float* in, int height, int pitch)
{
    __shared__ float tile[COLUMNS][(RESULTS + 2) * ROWS + 1];
    const int x = blockIdx.x * COLUMNS + threadIdx.x, y0 = (blockIdx.y * RESULTS - 1) * ROWS +
        threadIdx.y;
#pragma unroll
    for (int i = 0; i < RESULTS + 2; ++i) {
        const int y = y0 + i * ROWS;
        tile[threadIdx.x][threadIdx.y + i * ROWS] = y >= 0 && y < height ? in[y * pitch + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= RESULTS; ++i) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -R; j <= R; ++j) sum += taps[R - j] * tile[threadIdx.x][threadIdx.y +
            i * ROWS + j];
        if (y0 + i * ROWS < height) out[(y0 + i * ROWS) * pitch + x] = sum;
    }
}
