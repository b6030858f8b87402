// to_half_exchanged.cu -- WRONG ON PURPOSE: the two values of a pair are exchanged
//
// Mutant of  to_half (lab 18)
// Wrong      the first argument of __floats2half2_rn is the low half, which lies first in memory.
// Message    check: all

#include <cuda_fp16.h>

extern "C" __global__ void to_half_exchanged(__half* to, const float* from, long long n)
{
    const long long threads = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < n / 2; i += threads) {
        const float2 two = reinterpret_cast<const float2*>(from)[i];
        reinterpret_cast<__half2*>(to)[i] = __floats2half2_rn(two.y, two.x);
    }
    if (n % 2 && first == 0) to[n - 1] = __float2half(from[n - 1]);
}
