// block_too_deep.cu -- WRONG ON PURPOSE: 128 threads in z: 64 at most
//
// fault: resources
// launch: grid=1 block=1x1x128
// arguments: out int y 128

extern "C" __global__ void block_too_deep(int* y)
{
    const int i = threadIdx.z * blockDim.x + threadIdx.x;
    y[i] = i;
}
