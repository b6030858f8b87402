// pool_gradient.cu -- the gradient of 2 x 2 maximum pooling
extern "C" __global__ void pool_gradient(float* gradient, const float* x, const float* above,
                                         int rows, int columns)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows / 2 || c >= columns / 2) return;
    int best = 0;
    float most = x[2 * r * columns + 2 * c];
    for (int k = 1; k < 4; ++k) {
        const float value = x[(2 * r + k / 2) * columns + 2 * c + k % 2];
        if (value > most) {
            most = value;
            best = k;
        }
    }
    for (int k = 0; k < 4; ++k)
        gradient[(2 * r + k / 2) * columns + 2 * c + k % 2] =
            k == best ? above[r * (columns / 2) + c] : 0;
}
