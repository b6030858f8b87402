// dct_of_blocks.cu -- the cosine transform of 8 x 8 pixels: rows, a barrier, columns
__constant__ float cosines[64];
extern "C" __global__ void dct_of_blocks(float* out, const unsigned char* in, int width)
{
    __shared__ float cells[8][9], rows[8][9];
    const int x = threadIdx.x, y = threadIdx.y;
    const int at = (blockIdx.y * 8 + y) * width + blockIdx.x * 8 + x;
    cells[y][x] = in[at] - 128.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += cells[y][k] * cosines[x * 8 + k];
    rows[y][x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += rows[k][x] * cosines[y * 8 + k];
    out[at] = sum;
}
