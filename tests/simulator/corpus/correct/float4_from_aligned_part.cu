// float4_from_aligned_part.cu -- a float4 that starts at the fifth float
//
// twin: float4_from_second_float
// launch: grid=1 block=32
// arguments: out float y 128; in float x 132 uniform
// result: y = x[4:]

extern "C" __global__ void float4_from_aligned_part(float* y, const float* x)
{
    const float4* from = reinterpret_cast<const float4*>(x + 4);
    reinterpret_cast<float4*>(y)[threadIdx.x] = from[threadIdx.x];
}
