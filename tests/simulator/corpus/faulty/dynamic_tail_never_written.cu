// dynamic_tail_never_written.cu -- WRONG ON PURPOSE: a reduction over a power of two reads cells that a block of 48 threads
//     never filled
//
// fault: uninitialised
// array: part
// launch: grid=2 block=48 shared=256
// arguments: out float y 2; in float x 96 integers

extern "C" __global__ void dynamic_tail_never_written(float* y, const float* x)
{
    extern __shared__ float part[];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) {
            part[t] += part[t + step]; // <- here
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}
