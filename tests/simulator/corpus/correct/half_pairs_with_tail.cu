// half_pairs_with_tail.cu -- half2 arithmetic with a tail of one
//
// twin: half_pairs_past_end
// launch: grid=1 block=64
// arguments: out half y 101; in half x 101 integers; int n=101
// result: y = 2 * x + 1

#include <cuda_fp16.h>

extern "C" __global__ void half_pairs_with_tail(__half* y, const __half* x, int n)
{
    const int i = threadIdx.x;
    const __half2 two = __float2half2_rn(2.0f), one = __float2half2_rn(1.0f);
    if (2 * i + 1 < n) {
        const __half2 v = reinterpret_cast<const __half2*>(x)[i];
        reinterpret_cast<__half2*>(y)[i] = __hfma2(v, two, one);
    }
    if (2 * i + 1 == n) {
        y[2 * i] = __hfma(x[2 * i], __low2half(two), __low2half(one));
    }
}
