// channel_threads_add_plainly.cu -- WRONG ON PURPOSE: one thread for each input channel, all adding to the same output
//
// fault: race
// array: y
// launch: grid=2 block=32x4
// arguments: inout float y 50 zeros; in float x 4x50 integers; int n=50

extern "C" __global__ void channel_threads_add_plainly(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, channel = threadIdx.y;
    if (i < n) {
        y[i] += x[channel * n + i]; // <- here
    }
}
