// bilateral.cu -- a bilateral filter, borders clamped
__constant__ float nearness[5];
extern "C" __global__ void bilateral(float* out, const float* in, int width, int height,
                                     float range)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float centre = in[y * width + x];
    float sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            const int cx = min(max(x + dx, 0), width - 1), cy = min(max(y + dy, 0), height - 1);
            const float value = in[cy * width + cx], difference = value - centre;
            const float weight = nearness[dx + 2] * nearness[dy + 2] *
                                 __expf(-difference * difference * range);
            sum += weight * value;
            weights += weight;
        }
    out[y * width + x] = sum / weights;
}
