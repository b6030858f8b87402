// bf16_axpy.cu -- pairs of bfloat16, multiplied and added at once
#include <cuda_bf16.h>
extern "C" __global__ void bf16_axpy(__nv_bfloat162* y, const __nv_bfloat162* x, float a, int pairs)
{
    const __nv_bfloat162 factor = __float2bfloat162_rn(a);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x)
        y[i] = __hfma2(factor, x[i], y[i]);
}
