// dynamic_shared_given.cu -- the launch gives the size of dynamic shared memory
//
// twin: dynamic_shared_forgotten
// launch: grid=2 block=32 shared=128
// arguments: out float y 64; in float x 64 uniform
// result: y = x.reshape(2, 32)[:, ::-1].ravel()

extern "C" __global__ void dynamic_shared_given(float* y, const float* x)
{
    extern __shared__ float cells[];
    const int t = threadIdx.x, start = blockIdx.x * blockDim.x;
    cells[t] = x[start + t];
    __syncthreads();
    y[start + t] = cells[31 - t];
}
