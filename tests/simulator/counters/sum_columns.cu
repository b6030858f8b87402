// sum_columns.cu -- one thread a column: neighbouring lanes read neighbouring cells
extern "C" __global__ void sum_columns(float* out, const float* in, int height, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float sum = 0.0f;
    for (int y = 0; y < height; ++y) sum += in[y * width + x];
    out[x] = sum;
}
