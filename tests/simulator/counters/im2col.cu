// im2col.cu -- the windows of a K x K filter as columns of a matrix
#ifndef K
#define K 3
#endif

extern "C" __global__ void im2col(float* out, const float* in, int channels, int height, int width)
{
    const int high = height - K + 1, wide = width - K + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * high * wide) return;
    const int c = i / (high * wide), y = i / wide % high, x = i % wide;
    for (int p = 0; p < K; ++p)
        for (int q = 0; q < K; ++q)
            out[((c * K + p) * K + q) * high * wide + y * wide + x] = in[(c * height + y + p) * width + x + q];
}
