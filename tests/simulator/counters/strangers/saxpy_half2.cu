// saxpy_half2.cu -- a x + y on pairs of halves, an odd end by one thread
#include <cuda_fp16.h>
extern "C" __global__ void saxpy_half2(__half* y, const __half* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2* y2 = (__half2*)y;
    const __half2* x2 = (const __half2*)x;
    __half2 a2 = __float2half2_rn(a);
    for (int k = i; k < n / 2; k += gridDim.x * blockDim.x) y2[k] = __hfma2(a2, x2[k], y2[k]);
    if (i == 0 && (n & 1)) y[n - 1] = __hfma(__float2half(a), x[n - 1], y[n - 1]);
}
