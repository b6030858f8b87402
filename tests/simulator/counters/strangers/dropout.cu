// dropout.cu -- dropout with Philox: each thread draws its own numbers
__device__ uint2 philox2(uint2 counter, unsigned key)
{
    for (int round = 0; round < 10; ++round) {
        const unsigned high = __umulhi(0xD256D193u, counter.x), low = 0xD256D193u * counter.x;
        counter = make_uint2(high ^ key ^ counter.y, low);
        key += 0x9E3779B9u;
    }
    return counter;
}
extern "C" __global__ void dropout(float* y, const float* x, unsigned seed, float keep, int n)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    const uint2 bits = philox2(make_uint2(i, 0), seed);
    if (i < n) y[i] = bits.x * 2.3283064e-10f < keep ? x[i] / keep : 0;
    if (i + 1 < n) y[i + 1] = bits.y * 2.3283064e-10f < keep ? x[i + 1] / keep : 0;
}
