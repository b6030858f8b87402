// assertion_fails.cu -- WRONG ON PURPOSE: an assert finds a value that the caller promised not to give
//
// fault: assert
// also: unwritten
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

#include <cassert>

extern "C" __global__ void assertion_fails(float* y, const float* x)
{
    const int i = threadIdx.x;
    const float value = x[i];
    assert(value >= 0.0f); // <- here
    y[i] = sqrtf(value);
}
