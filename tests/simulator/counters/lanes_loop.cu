// lanes_loop.cu -- lanes leave a loop one after another; it is not unrolled, so that all start in the same round
extern "C" __global__ void lanes_loop(float* out, const float* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < i % 7; ++k) sum += in[i + 8 * k];
    out[i] = sum;
}
