// scan_two_buffers.cu -- prefix sums by Kogge and Stone, in two buffers that change their roles
#define SECTION 256
extern "C" __global__ void scan_two_buffers(const float* X, float* Y, int n)
{
    __shared__ float one[SECTION], two[SECTION];
    float* from = one;
    float* to = two;
    const int tx = threadIdx.x, i = blockIdx.x * SECTION + tx;
    from[tx] = i < n ? X[i] : 0.0f;
    for (int stride = 1; stride < SECTION; stride *= 2) {
        __syncthreads();
        to[tx] = tx >= stride ? from[tx] + from[tx - stride] : from[tx];
        float* held = from;
        from = to;
        to = held;
    }
    if (i < n) Y[i] = from[tx];
}
