// float2_store_on_even_column.cu -- pairs are stored from column 2 on
//
// twin: float2_store_on_odd_column
// launch: grid=1 block=15
// arguments: inout float y 32 zeros; in float x 32 uniform
// result: y = np.concatenate([[0, 0], x[2:]])

extern "C" __global__ void float2_store_on_even_column(float* y, const float* x)
{
    const int i = 2 * threadIdx.x + 2;
    *reinterpret_cast<float2*>(y + i) = make_float2(x[i], x[i + 1]);
}
