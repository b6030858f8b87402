// channel_threads_add_atomically.cu -- one thread for each input channel, adding with an atomic (the order is not fixed:
//     whole numbers make it exact)
//
// twin: channel_threads_add_plainly
// launch: grid=2 block=32x4
// arguments: inout float y 50 zeros; in float x 4x50 integers; int n=50
// result: y = x.sum(axis=0)

extern "C" __global__ void channel_threads_add_atomically(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, channel = threadIdx.y;
    if (i < n) {
        atomicAdd(&y[i], x[channel * n + i]);
    }
}
