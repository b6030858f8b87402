// reduction.cu -- a tree reduction of a block
//
// twin: reduction_without_barrier
// launch: grid=4 block=256
// arguments: out float y 4; in float x 1024 integers
// result: y = x.reshape(4, 256).sum(axis=1)

extern "C" __global__ void reduction(float* y, const float* x)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (t < step) {
            part[t] += part[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}
