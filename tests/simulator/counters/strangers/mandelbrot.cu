// mandelbrot.cu -- escape times, one pixel a thread, lanes leave the loop at different times
extern "C" __global__ void mandelbrot(uchar4* pixels, int width, int height, double x0, double y0,
                                      double scale, int most)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    double cx = x0 + px * scale, cy = y0 + py * scale, zx = 0, zy = 0;
    int k = 0;
    for (; k < most; ++k) {
        double zx2 = zx * zx, zy2 = zy * zy;
        if (zx2 + zy2 > 4.0) break;
        zy = 2 * zx * zy + cy;
        zx = zx2 - zy2 + cx;
    }
    uchar4 c = {0, 0, 0, 255};
    if (k < most) {
        c.x = k * 5;
        c.y = 255 - k;
        c.z = (k & 7) << 5;
    }
    pixels[py * width + px] = c;
}
