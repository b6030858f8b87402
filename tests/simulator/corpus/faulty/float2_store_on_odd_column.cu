// float2_store_on_odd_column.cu -- WRONG ON PURPOSE: pairs are stored from column 1 on
//
// fault: misaligned
// array: y
// launch: grid=1 block=15
// arguments: inout float y 32 zeros; in float x 32 uniform

extern "C" __global__ void float2_store_on_odd_column(float* y, const float* x)
{
    const int i = 2 * threadIdx.x + 1;
    *reinterpret_cast<float2*>(y + i) = make_float2(x[i], x[i + 1]); // <- here
}
