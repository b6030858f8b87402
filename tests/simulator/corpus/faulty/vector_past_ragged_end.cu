// vector_past_ragged_end.cu -- WRONG ON PURPOSE: the last float4 of 1,002 floats reaches past the end
//
// fault: out-of-bounds
// array: x
// launch: grid=4 block=64
// arguments: out float y 1002; in float x 1002 uniform; int n=1002

extern "C" __global__ void vector_past_ragged_end(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; // <- here
    }
}
