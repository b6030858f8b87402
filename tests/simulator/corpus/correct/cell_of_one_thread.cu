// cell_of_one_thread.cu -- one thread alone loads and stores a cell; the optimiser makes the load one of the whole warp
//
// twin: cell_of_two_threads
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100
// result: y = np.where(np.arange(128) % 64 == 31, x + 7, x)

extern "C" __global__ void cell_of_one_thread(int* y, const int* x)
{
    __shared__ int f;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = 0;
    if (t == 31) f = 7;
    if (t == 31) v = f;
    if (t == 31) f = 0;
    y[i] = x[i] + v;
}
