// float4_rows_of_ten.cu -- WRONG ON PURPOSE: rows of 10 floats: every second one is not 16-byte aligned
//
// fault: misaligned
// array: x
// launch: grid=1 block=16
// arguments: out float y 16; in float x 16x10 uniform; int width=10

extern "C" __global__ void float4_rows_of_ten(float* y, const float* x, int width)
{
    const float4 v = *reinterpret_cast<const float4*>(x + threadIdx.x * width); // <- here
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
