// lanes_odd.cu -- every other lane works
extern "C" __global__ void lanes_odd(float* out, const float* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 2) out[i] = in[i] * in[i - 1];
}
