// float4_from_second_float.cu -- WRONG ON PURPOSE: a float4 that starts at the second float
//
// fault: misaligned
// array: x
// launch: grid=1 block=32
// arguments: out float y 128; in float x 132 uniform

extern "C" __global__ void float4_from_second_float(float* y, const float* x)
{
    const float4* from = reinterpret_cast<const float4*>(x + 1);
    reinterpret_cast<float4*>(y)[threadIdx.x] = from[threadIdx.x]; // <- here
}
