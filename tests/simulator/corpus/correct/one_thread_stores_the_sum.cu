// one_thread_stores_the_sum.cu -- one thread of the block stores
//
// twin: every_thread_stores_its_own_sum
// launch: grid=2 block=64
// arguments: out int y 2; in int x 128 below=100
// result: y = x[63::64]

extern "C" __global__ void one_thread_stores_the_sum(int* y, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x == blockDim.x - 1) y[blockIdx.x] = value;
}
