// both_outputs.cu -- a thread computes two outputs and stores both
//
// twin: every_second_output
// launch: grid=2 block=64
// arguments: out float y 256; in float x 256 uniform
// result: y = x * x

extern "C" __global__ void both_outputs(float* y, const float* x)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    const float first = x[i] * x[i], second = x[i + 1] * x[i + 1];
    y[i] = first;
    y[i + 1] = second;
}
