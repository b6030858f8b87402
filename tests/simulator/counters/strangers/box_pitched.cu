// box_pitched.cu -- a box filter of rows that lie a pitch apart
extern "C" __global__ void box_pitched(const float *in, size_t pitch, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float s = 0;
    for (int dy = -1; dy <= 1; dy++) {
        int yy = min(max(y + dy, 0), h - 1);
        const float *row = (const float *)((const char *)in + yy * pitch);
        for (int dx = -1; dx <= 1; dx++)
            s += row[min(max(x + dx, 0), w - 1)];
    }
    out[y * w + x] = s / 9;
}
