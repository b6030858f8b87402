// pixels_packed.cu -- uchar3 pixels to grey, luminance by integers; three bytes a thread
extern "C" __global__ void pixels_packed(unsigned char* grey, const uchar3* __restrict__ rgb,
                                         int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        uchar3 p = rgb[y * width + x];
        grey[y * width + x] = (p.x * 77 + p.y * 151 + p.z * 28) >> 8;
    }
}
