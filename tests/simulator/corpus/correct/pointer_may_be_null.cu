// pointer_may_be_null.cu -- an optional array: a null pointer that is never followed
//
// twin: null_pointer
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform; null float bias
// result: y = x

extern "C" __global__ void pointer_may_be_null(float* y, const float* x, const float* bias)
{
    const int i = threadIdx.x;
    y[i] = bias != nullptr ? x[i] + bias[i] : x[i];
}
