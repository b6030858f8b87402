// reverse.cu -- a block reversed through shared memory
//
// twin: reverse_without_barrier
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform
// result: y = np.concatenate([part[::-1] for part in np.split(x, 2)])

extern "C" __global__ void reverse(float* y, const float* x)
{
    __shared__ float cells[128];
    const int t = threadIdx.x, start = blockIdx.x * blockDim.x;
    cells[t] = x[start + t];
    __syncthreads();
    y[start + t] = cells[127 - t];
}
