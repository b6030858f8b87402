// grid_rounded_up.cu -- enough blocks for n, the last one partial
//
// twin: grid_rounded_down
// launch: grid=4 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000
// result: y = -x

extern "C" __global__ void grid_rounded_up(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = -x[i];
    }
}
