// transpose_naive.cu -- reads rows, writes columns
extern "C" __global__ void transpose_naive(float* out, const float* in, int height, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}
