// guard.cu -- a copy of ragged length with its guard
//
// twin: guard_off_by_one
// launch: grid=4 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000
// result: y = 2 * x

extern "C" __global__ void guard(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}
