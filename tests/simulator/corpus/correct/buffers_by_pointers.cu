// buffers_by_pointers.cu -- a scan in two shared arrays, whose pointers change places in each step
//
// launch: grid=2 block=512
// arguments: out int y 1024; in int x 1024 below=100
// result: y = np.cumsum(x.reshape(2, 512), axis=1).ravel()

extern "C" __global__ void buffers_by_pointers(int* y, const int* x)
{
    __shared__ int first[512];
    __shared__ int second[512];
    int* from = first;
    int* to = second;
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    from[t] = x[i];
    __syncthreads();
    for (int step = 1; step < 512; step *= 2) {
        to[t] = t >= step ? from[t] + from[t - step] : from[t];
        __syncthreads();
        int* const last = from;
        from = to;
        to = last;
    }
    y[i] = from[t];
}
