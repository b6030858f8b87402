// launch_bounds_kept.cu -- a block of 128 for a kernel that promises 128 at most
//
// twin: launch_bounds_exceeded
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform
// result: y = x + 1

extern "C" __global__ void __launch_bounds__(128) launch_bounds_kept(float* y, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + 1.0f;
}
