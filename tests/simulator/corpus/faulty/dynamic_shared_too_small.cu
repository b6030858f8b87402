// dynamic_shared_too_small.cu -- WRONG ON PURPOSE: the launch gives half of the dynamic shared memory that the kernel uses
//
// fault: out-of-bounds
// array: cells
// launch: grid=1 block=128 shared=256
// arguments: out float y 128; in float x 128 uniform

extern "C" __global__ void dynamic_shared_too_small(float* y, const float* x)
{
    extern __shared__ float cells[];
    cells[threadIdx.x] = x[threadIdx.x]; // <- here
    __syncthreads();
    y[threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
}
