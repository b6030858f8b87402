// simpson.cu -- an integral of doubles by Simpson's rule
extern "C" __global__ void simpson(double* out, double a, double h, int n)
{
    __shared__ double part[128];
    double sum = 0;
    for (int i = threadIdx.x; i <= n; i += blockDim.x) {
        const double x = a + i * h;
        sum += (i == 0 || i == n ? 1 : i % 2 ? 4 : 2) * exp(-x * x);
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = part[0] * h / 3;
}
