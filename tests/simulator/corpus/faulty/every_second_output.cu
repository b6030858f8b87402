// every_second_output.cu -- WRONG ON PURPOSE: a thread computes two outputs and stores one
//
// fault: unwritten
// array: y
// launch: grid=2 block=64
// arguments: out float y 256; in float x 256 uniform

extern "C" __global__ void every_second_output(float* y, const float* x)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    const float first = x[i] * x[i], second = x[i + 1] * x[i + 1];
    y[i] = first; // <- here
    if (second < 0.0f) y[i + 1] = second; // <- here
}
