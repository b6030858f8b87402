// dynamic_shared.cu -- a block reversed through dynamic shared memory
//
// twin: dynamic_shared_too_small
// launch: grid=1 block=128 shared=512
// arguments: out float y 128; in float x 128 uniform
// result: y = x[::-1]

extern "C" __global__ void dynamic_shared(float* y, const float* x)
{
    extern __shared__ float cells[];
    cells[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
}
