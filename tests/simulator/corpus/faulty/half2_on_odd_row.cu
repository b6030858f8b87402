// half2_on_odd_row.cu -- WRONG ON PURPOSE: rows of 9 halves: the pairs of every second row are not 4-byte aligned
//
// fault: misaligned
// array: x
// launch: grid=1 block=4x8
// arguments: out half y 8x4; in half x 8x9 integers; int width=9

#include <cuda_fp16.h>

extern "C" __global__ void half2_on_odd_row(__half* y, const __half* x, int width)
{
    const int pair = threadIdx.x, row = threadIdx.y;
    const __half2 v = *reinterpret_cast<const __half2*>(x + row * width + 2 * pair); // <- here
    y[row * 4 + pair] = __hadd(__low2half(v), __high2half(v));
}
