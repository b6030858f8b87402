// float4_rows_of_twelve.cu -- rows of 12 floats start 16-byte aligned
//
// twin: float4_rows_of_ten
// launch: grid=1 block=16
// arguments: out float y 16; in float x 16x12 uniform; int width=12
// result: y = x[:, :4].sum(axis=1)
// compare: within 1e-5

extern "C" __global__ void float4_rows_of_twelve(float* y, const float* x, int width)
{
    const float4 v = *reinterpret_cast<const float4*>(x + threadIdx.x * width);
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
