// grid_rounded_down.cu -- WRONG ON PURPOSE: n / block blocks: the last, partial one was rounded away
//
// fault: unwritten
// array: y
// launch: grid=3 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000

extern "C" __global__ void grid_rounded_down(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = -x[i]; // <- here
    }
}
