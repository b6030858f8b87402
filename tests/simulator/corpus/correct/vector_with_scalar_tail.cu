// vector_with_scalar_tail.cu -- float4 copies, and the last n % 4 cells one by one
//
// twin: vector_past_ragged_end
// launch: grid=4 block=64
// arguments: out float y 1002; in float x 1002 uniform; int n=1002
// result: y = x

extern "C" __global__ void vector_with_scalar_tail(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i + 3 < n) {
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
    } else {
        for (int k = 4 * i; k < n; ++k) {
            y[k] = x[k];
        }
    }
}
