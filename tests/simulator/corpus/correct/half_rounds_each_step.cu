// half_rounds_each_step.cu -- half arithmetic by its operators: every step is rounded to half
//
// launch: grid=1 block=64
// arguments: out half y 64; in half x 64 uniform
// result: y = x * x + np.float16(0.1)
// compare: within 2e-3

#include <cuda_fp16.h>

extern "C" __global__ void half_rounds_each_step(__half* y, const __half* x)
{
    const int t = threadIdx.x;
    y[t] = __hadd_rn(__hmul_rn(x[t], x[t]), __float2half(0.1f));
}
