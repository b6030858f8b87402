// dynamic_shared_forgotten.cu -- WRONG ON PURPOSE: the launch forgets the size of dynamic shared memory
//
// fault: out-of-bounds
// launch: grid=2 block=32
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void dynamic_shared_forgotten(float* y, const float* x)
{
    extern __shared__ float cells[];
    const int t = threadIdx.x, start = blockIdx.x * blockDim.x;
    cells[t] = x[start + t]; // <- here
    __syncthreads();
    y[start + t] = cells[31 - t];
}
