// scan_in_one_buffer.cu -- WRONG ON PURPOSE: an inclusive scan that reads and writes one buffer between two barriers
//
// fault: race
// array: cells
// launch: grid=1 block=128
// arguments: out int y 128; in int x 128 below=10

extern "C" __global__ void scan_in_one_buffer(int* y, const int* x)
{
    __shared__ int cells[128];
    const int t = threadIdx.x;
    cells[t] = x[t];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        if (t >= step) cells[t] += cells[t - step]; // <- here
    }
    y[t] = cells[t];
}
