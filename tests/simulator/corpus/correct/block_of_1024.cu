// block_of_1024.cu -- 32 x 32 threads, the most that a block holds
//
// twin: block_too_large
// launch: grid=1 block=32x32
// arguments: out int y 1024
// result: y = np.arange(1024)

extern "C" __global__ void block_of_1024(int* y)
{
    const int i = threadIdx.y * 32 + threadIdx.x;
    if (i < 1024) {
        y[i] = i;
    }
}
