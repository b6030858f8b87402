// median_of_nine.cu -- the middle of 3 x 3 pixels by a partial selection in a local array
extern "C" __global__ void median_of_nine(unsigned char* out, const unsigned char* in, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    unsigned char nine[9];
    int k = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            nine[k++] = in[min(max(y + dy, 0), h - 1) * w + min(max(x + dx, 0), w - 1)];
    for (int i = 0; i < 5; ++i)
        for (int j = i + 1; j < 9; ++j)
            if (nine[j] < nine[i]) {
                const unsigned char held = nine[i];
                nine[i] = nine[j];
                nine[j] = held;
            }
    out[y * w + x] = nine[4];
}
