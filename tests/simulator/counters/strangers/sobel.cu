// sobel.cu -- edges of a picture of bytes, borders clamped
#define AT(X, Y) (float)img[min(max((Y), 0), h - 1) * w + min(max((X), 0), w - 1)]
extern "C" __global__ void sobel(unsigned char* edges, const unsigned char* img, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float gx = AT(x + 1, y - 1) + 2 * AT(x + 1, y) + AT(x + 1, y + 1) - AT(x - 1, y - 1) -
               2 * AT(x - 1, y) - AT(x - 1, y + 1);
    float gy = AT(x - 1, y + 1) + 2 * AT(x, y + 1) + AT(x + 1, y + 1) - AT(x - 1, y - 1) -
               2 * AT(x, y - 1) - AT(x + 1, y - 1);
    float m = sqrtf(gx * gx + gy * gy);
    edges[y * w + x] = m > 255.f ? 255 : (unsigned char)m;
}
