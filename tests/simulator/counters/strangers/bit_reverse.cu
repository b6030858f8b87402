// bit_reverse.cu -- complex cells moved to their bit-reversed places, in place
extern "C" __global__ void bit_reverse(float2* data, int bits)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1u << bits) return;
    unsigned j = __brev(i) >> (32 - bits);
    if (j > i) {
        float2 t = data[i];
        data[i] = data[j];
        data[j] = t;
    }
}
