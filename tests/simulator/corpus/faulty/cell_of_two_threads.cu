// cell_of_two_threads.cu -- WRONG ON PURPOSE: a thread loads a cell that another one stores, without a barrier
//
// fault: race
// also: uninitialised
// array: f
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100

extern "C" __global__ void cell_of_two_threads(int* y, const int* x)
{
    __shared__ int f;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = 0;
    if (t == 31) f = 7; // <- here
    if (t == 31) v = f;
    if (t == 30) v = f; // <- here
    if (t == 31) f = 0; // <- here
    y[i] = x[i] + v;
}
