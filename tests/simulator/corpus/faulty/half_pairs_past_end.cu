// half_pairs_past_end.cu -- WRONG ON PURPOSE: n halves are n / 2 pairs only when n is even: the last pair reaches past the end
//
// fault: out-of-bounds
// array: x
// launch: grid=1 block=64
// arguments: out half y 101; in half x 101 integers; int n=101

#include <cuda_fp16.h>

extern "C" __global__ void half_pairs_past_end(__half* y, const __half* x, int n)
{
    const int i = threadIdx.x;
    const __half2 two = __float2half2_rn(2.0f), one = __float2half2_rn(1.0f);
    if (2 * i < n) {
        const __half2 v = reinterpret_cast<const __half2*>(x)[i]; // <- here
        reinterpret_cast<__half2*>(y)[i] = __hfma2(v, two, one);
    }
}
