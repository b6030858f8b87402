// rotate.cu -- a picture rotated, the nearest cell taken
extern "C" __global__ void rotate(unsigned char* out, const unsigned char* in, int width,
                                  int height, float sine, float cosine)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float cx = width * 0.5f, cy = height * 0.5f;
    const int sx = (int)floorf((x - cx) * cosine + (y - cy) * sine + cx);
    const int sy = (int)floorf((y - cy) * cosine - (x - cx) * sine + cy);
    out[y * width + x] = sx >= 0 && sx < width && sy >= 0 && sy < height ? in[sy * width + sx] : 0;
}
