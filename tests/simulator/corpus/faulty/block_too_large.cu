// block_too_large.cu -- WRONG ON PURPOSE: 32 x 33 threads: a block holds 1,024 at most
//
// fault: resources
// launch: grid=1 block=32x33
// arguments: out int y 1024

extern "C" __global__ void block_too_large(int* y)
{
    const int i = threadIdx.y * 32 + threadIdx.x;
    if (i < 1024) {
        y[i] = i;
    }
}
