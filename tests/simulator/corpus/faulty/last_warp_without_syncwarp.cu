// last_warp_without_syncwarp.cu -- WRONG ON PURPOSE: the last warp of a reduction runs "in step", which no GPU since Volta
//     promises
//
// fault: race
// array: part
// launch: grid=4 block=128
// arguments: out float y 4; in float x 512 integers

extern "C" __global__ void last_warp_without_syncwarp(float* y, const float* x)
{
    __shared__ volatile float part[128];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    if (t < 64) {
        part[t] += part[t + 64];
    }
    __syncthreads();
    if (t < 32) {
        part[t] += part[t + 32]; // <- here
        part[t] += part[t + 16]; // <- here
        part[t] += part[t + 8]; // <- here
        part[t] += part[t + 4]; // <- here
        part[t] += part[t + 2]; // <- here
        part[t] += part[t + 1]; // <- here
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
