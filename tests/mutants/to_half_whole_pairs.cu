// to_half_whole_pairs.cu -- WRONG ON PURPOSE: the last value of an odd number is left out
//
// Mutant of  to_half (lab 18)
// Wrong      values are converted in pairs; the one that is left alone is never written.
// Message    check: planes

#include <cuda_fp16.h>

extern "C" __global__ void to_half_whole_pairs(__half* to, const float* from, long long n)
{
    const long long threads = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < n / 2; i += threads) {
        const float2 two = reinterpret_cast<const float2*>(from)[i];
        reinterpret_cast<__half2*>(to)[i] = __floats2half2_rn(two.x, two.y);
    }
}
