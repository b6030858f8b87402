// block_deep.cu -- 64 threads in z, the most
//
// twin: block_too_deep
// launch: grid=1 block=2x1x64
// arguments: out int y 128
// result: y = np.arange(128)

extern "C" __global__ void block_deep(int* y)
{
    const int i = threadIdx.z * blockDim.x + threadIdx.x;
    y[i] = i;
}
