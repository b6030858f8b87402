// max_read_then_written.cu -- WRONG ON PURPOSE: "if larger, store": two threads may both find their value larger
//
// fault: race
// array: most
// launch: grid=2 block=64
// arguments: inout float most 1 zeros; in float x 128 uniform

extern "C" __global__ void max_read_then_written(float* most, const float* x)
{
    const float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (value > *most) { // <- here
        *most = value; // <- here
    }
}
