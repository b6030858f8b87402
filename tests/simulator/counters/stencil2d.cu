// stencil2d.cu -- five points of a plane, straight from global memory
extern "C" __global__ void stencil2d(float* out, const float* in, int height, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const float* c = in + y * width + x;
    out[y * width + x] = 0.2f * (c[0] + c[-1] + c[1] + c[-width] + c[width]);
}
