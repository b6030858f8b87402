// last_warp_with_syncwarp.cu -- the last warp of a reduction, with __syncwarp between its steps
//
// twin: last_warp_without_syncwarp
// launch: grid=4 block=128
// arguments: out float y 4; in float x 512 integers
// result: y = x.reshape(4, 128).sum(axis=1)

extern "C" __global__ void last_warp_with_syncwarp(float* y, const float* x)
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
        float sum = part[t] + part[t + 32];
        for (int step = 16; step > 0; step /= 2) {
            __syncwarp();
            part[t] = sum;
            __syncwarp();
            sum += part[(t + step) % 32];
        }
        if (t == 0) y[blockIdx.x] = sum;
    }
}
