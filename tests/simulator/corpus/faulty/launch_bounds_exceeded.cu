// launch_bounds_exceeded.cu -- WRONG ON PURPOSE: a block of 256 for a kernel that promises 128 at most
//
// fault: resources
// launch: grid=1 block=256
// arguments: out float y 256; in float x 256 uniform

extern "C" __global__ void __launch_bounds__(128) launch_bounds_exceeded(float* y, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + 1.0f;
}
