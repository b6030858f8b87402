// blur_rows.cu -- nine neighbours, clamped, by a template
template <int R> __device__ float blur(const float *row, int x, int w)
{
    float s = 0;
#pragma unroll
    for (int d = -R; d <= R; d++) { int c = x + d; c = c < 0 ? 0 : c >= w ? w - 1 : c; s += row[c]; }
    return s / (2 * R + 1);
}
extern "C" __global__ void blur_rows(const float * __restrict__ in, float * __restrict__ out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = blockIdx.y; y < h; y += gridDim.y)
        if (x < w) out[y * w + x] = blur<4>(in + y * w, x, w);
}
