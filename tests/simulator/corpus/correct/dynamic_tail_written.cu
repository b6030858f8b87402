// dynamic_tail_written.cu -- a reduction over a power of two, the cells behind the 48 threads' set to zero
//
// twin: dynamic_tail_never_written
// launch: grid=2 block=48 shared=256
// arguments: out float y 2; in float x 96 integers
// result: y = x.reshape(2, 48).sum(axis=1)

extern "C" __global__ void dynamic_tail_written(float* y, const float* x)
{
    extern __shared__ float part[];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    if (t < 16) {
        part[48 + t] = 0.0f;
    }
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) {
            part[t] += part[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}
