// freed_array.cu -- WRONG ON PURPOSE: the host freed x before the launch
//
// fault: out-of-bounds
// launch: grid=1 block=64
// arguments: out float y 64; freed float x 64

extern "C" __global__ void freed_array(float* y, const float* x)
{
    y[threadIdx.x] = x[threadIdx.x]; // <- here
}
