// scan_in_two_buffers.cu -- an inclusive scan, double-buffered
//
// twin: scan_in_one_buffer
// launch: grid=1 block=128
// arguments: out int y 128; in int x 128 below=10
// result: y = np.cumsum(x)

extern "C" __global__ void scan_in_two_buffers(int* y, const int* x)
{
    __shared__ int cells[2][128];
    const int t = threadIdx.x;
    int from = 0;
    cells[from][t] = x[t];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        cells[1 - from][t] = cells[from][t] + (t >= step ? cells[from][t - step] : 0);
        from = 1 - from;
    }
    y[t] = cells[from][t];
}
