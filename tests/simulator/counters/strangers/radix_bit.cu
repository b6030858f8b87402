// radix_bit.cu -- a step of a radix sort: one bit, by prefix sums of its ones
extern "C" __global__ void radix_bit(unsigned* out, const unsigned* in, int bit)
{
    __shared__ unsigned ones[256];
    const int t = threadIdx.x;
    const unsigned key = in[t], mine = key >> bit & 1;
    ones[t] = mine;
    __syncthreads();
    for (int stride = 1; stride < 256; stride *= 2) {
        const unsigned add = t >= stride ? ones[t - stride] : 0;
        __syncthreads();
        ones[t] += add;
        __syncthreads();
    }
    const unsigned before = ones[t] - mine, total = ones[255];
    const unsigned to = mine ? 256 - total + before : t - before;
    out[to] = key;
}
