// halves_added.cu -- gradients as pairs of halves: packed atomics, and single ones
#include <cuda_fp16.h>
extern "C" __global__ void halves_added(__half2* pairs, __half* singles, const float2* x, int n,
    int columns)
{
    const int i = threadIdx.x;
    if (i >= n) return;
    const float2 v = x[i];
    atomicAdd(&pairs[i % columns], __floats2half2_rn(v.x, v.y));
    if (i % 2 == 0) atomicAdd(&singles[i], __float2half(v.x));
}
