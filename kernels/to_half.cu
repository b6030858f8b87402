// to_half.cu -- float32 to half, once for each value, before the launch that wants halves
//
// Computes   to[i] = from[i], rounded to the nearest half (11 significant bits; beyond 65,504 it
//            becomes infinity)
// Idea       A conversion is cheap where it is made once a value, in a kernel that is bound by
//            bytes anyway: 4 in, 2 out. Two values a thread: one 8-byte load, one 4-byte store.
// Arrays     from: float32, shape (n,), aligned to 8 bytes; to: half, shape (n,), aligned to 4.
//            They must not overlap.
// Launch     block = (any, 1, 1), 256 unless said otherwise; grid = (blocks, 1): ceil(n / (2 *
//            blockDim.x)), or fewer: threads go on by whole grids
// Sizes      any n >= 1, more than 2^31 too; the last value of an odd n goes alone.
// Memory     no shared, no constant.
// Constants  none.
// Reference  numpy.ndarray.astype(numpy.float16)

#include <cuda_fp16.h>

extern "C" __global__ void to_half(__half* to, const float* from, long long n)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < n / 2; i += threads) {
        const float2 two = reinterpret_cast<const float2*>(from)[i];
        reinterpret_cast<__half2*>(to)[i] = __floats2half2_rn(two.x, two.y);
    }
    if (n % 2 && first == 0) {
        to[n - 1] = __float2half(from[n - 1]);
    }
}
