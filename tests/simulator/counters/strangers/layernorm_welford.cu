// layernorm_welford.cu -- rows normalised: Welford's mean and variance, joined by shuffles
extern "C" __global__ void layernorm_welford(float* y, const float* x, int width)
{
    const float* row = x + blockIdx.x * width;
    float mean = 0, m2 = 0, count = 0;
    for (int k = threadIdx.x; k < width; k += 32) {
        count += 1;
        const float delta = row[k] - mean;
        mean += delta / count;
        m2 += delta * (row[k] - mean);
    }
    for (int step = 16; step > 0; step /= 2) {
        const float other_mean = __shfl_xor_sync(0xffffffffu, mean, step);
        const float other_m2 = __shfl_xor_sync(0xffffffffu, m2, step);
        const float other_count = __shfl_xor_sync(0xffffffffu, count, step);
        const float both = count + other_count, delta = other_mean - mean;
        if (both > 0) {
            mean += delta * other_count / both;
            m2 += other_m2 + delta * delta * count * other_count / both;
        }
        count = both;
    }
    const float scale = rsqrtf(m2 / width + 1e-5f);
    for (int k = threadIdx.x; k < width; k += 32)
        y[blockIdx.x * width + k] = (row[k] - mean) * scale;
}
