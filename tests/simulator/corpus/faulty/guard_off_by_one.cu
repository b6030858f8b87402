// guard_off_by_one.cu -- WRONG ON PURPOSE: the guard lets thread n through
//
// fault: out-of-bounds
// array: x
// launch: grid=4 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000

extern "C" __global__ void guard_off_by_one(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = 2.0f * x[i]; // <- here
    }
}
