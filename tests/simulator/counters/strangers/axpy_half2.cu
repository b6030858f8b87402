// axpy_half2.cu -- pairs of halves, and one alone
#include <cuda_fp16.h>
extern "C" __global__ void axpy_half2(float factor, const half *x, half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pairs = n / 2;
    const half2 *x2 = reinterpret_cast<const half2 *>(x);
    half2 *y2 = reinterpret_cast<half2 *>(y);
    half a = __float2half(factor);
    half2 a2 = __half2half2(a);
    for (int p = i; p < pairs; p += gridDim.x * blockDim.x)
        y2[p] = __hfma2(a2, x2[p], y2[p]);
    if (i == 0 && (n & 1))
        y[n - 1] = __hfma(a, x[n - 1], y[n - 1]);
}
