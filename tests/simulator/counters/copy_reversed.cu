// copy_reversed.cu -- lanes in falling order of addresses
extern "C" __global__ void copy_reversed(float* out, const float* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[n - 1 - i];
}
