// half2_on_even_row.cu -- rows of 10 halves: pairs stay aligned
//
// twin: half2_on_odd_row
// launch: grid=1 block=4x8
// arguments: out half y 8x4; in half x 8x10 integers; int width=10
// result: y = x[:, 0:8:2] + x[:, 1:8:2]

#include <cuda_fp16.h>

extern "C" __global__ void half2_on_even_row(__half* y, const __half* x, int width)
{
    const int pair = threadIdx.x, row = threadIdx.y;
    const __half2 v = *reinterpret_cast<const __half2*>(x + row * width + 2 * pair);
    y[row * 4 + pair] = __hadd(__low2half(v), __high2half(v));
}
