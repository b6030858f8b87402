// copy_without_tail.cu -- WRONG ON PURPOSE: float4 copies stop before the last n % 4 cells
//
// fault: unwritten
// array: y
// launch: grid=1 block=64
// arguments: out float y 250; in float x 250 uniform; int n=250

extern "C" __global__ void copy_without_tail(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; // <- here
    }
}
