// reduction_without_barrier.cu -- WRONG ON PURPOSE: a tree reduction whose steps do not wait for one another
//
// fault: race
// array: part
// launch: grid=4 block=256
// arguments: out float y 4; in float x 1024 integers

extern "C" __global__ void reduction_without_barrier(float* y, const float* x)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (t < step) {
            part[t] += part[t + step]; // <- here
        }
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}
