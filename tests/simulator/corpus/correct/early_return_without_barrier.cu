// early_return_without_barrier.cu -- an early return in a kernel without barriers
//
// twin: return_above_barrier
// launch: grid=4 block=64
// arguments: out float y 250; in float x 250 uniform; int n=250
// result: y = x

extern "C" __global__ void early_return_without_barrier(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    y[i] = x[i];
}
