// copy_with_tail.cu -- float4 copies; the first threads of the grid copy the last n % 4 cells
//
// twin: copy_without_tail
// launch: grid=1 block=64
// arguments: out float y 250; in float x 250 uniform; int n=250
// result: y = x

extern "C" __global__ void copy_with_tail(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
    }
    if (i < n % 4) {
        y[n / 4 * 4 + i] = x[n / 4 * 4 + i];
    }
}
