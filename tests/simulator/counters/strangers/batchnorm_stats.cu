// batchnorm_stats.cu -- mean and variance of the channels of a batch of images
extern "C" __global__ void batchnorm_stats(float* mean, float* variance, const float* x,
                                           int images, int channels, int cells)
{
    __shared__ float sums[64], squares[64];
    const int c = blockIdx.x, t = threadIdx.x;
    float sum = 0, square = 0;
    for (int i = t; i < images * cells; i += 64) {
        const float v = x[((i / cells) * channels + c) * cells + i % cells];
        sum += v;
        square += v * v;
    }
    sums[t] = sum, squares[t] = square;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (t < s) sums[t] += sums[t + s], squares[t] += squares[t + s];
        __syncthreads();
    }
    if (t == 0) {
        const float count = images * cells, m = sums[0] / count;
        mean[c] = m;
        variance[c] = squares[0] / count - m * m;
    }
}
