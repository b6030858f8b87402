// %%kernel axpy_two
__global__ void axpy_two(float* y, const float* x, int n, float a)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n) {
        const float2 from = *reinterpret_cast<const float2*>(x + i);
        float2* to = reinterpret_cast<float2*>(y + i);
        const float2 old = *to;
        *to = make_float2(a * from.x + old.x, a * from.y + old.y);
    } else if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
