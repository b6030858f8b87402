// %%kernel to_half
#include <cuda_fp16.h>
__global__ void to_half(__half* to, const float* from, long long n)   // n is even
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;   // of a pair
    //> Load pair i as one float2, round it by __floats2half2_rn(a, b), store it as one __half2.
    if (i < n / 2) {
        const float2 two = reinterpret_cast<const float2*>(from)[i];
        reinterpret_cast<__half2*>(to)[i] = __floats2half2_rn(two.x, two.y);
    }
    //<
}
