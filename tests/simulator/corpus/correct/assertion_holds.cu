// assertion_holds.cu -- an assert that holds
//
// twin: assertion_fails
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.sqrt(np.abs(x))
// compare: within 1e-6

#include <cassert>

extern "C" __global__ void assertion_holds(float* y, const float* x)
{
    const int i = threadIdx.x;
    const float value = fabsf(x[i]);
    assert(value >= 0.0f);
    y[i] = sqrtf(value);
}
