// null_pointer.cu -- WRONG ON PURPOSE: an array that was never allocated
//
// fault: out-of-bounds
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform; null float bias

extern "C" __global__ void null_pointer(float* y, const float* x, const float* bias)
{
    const int i = threadIdx.x;
    y[i] = x[i] + bias[i]; // <- here
}
