// block_scan.cu -- inclusive scan of a block: Hillis and Steele in two buffers, block totals kept
extern "C" __global__ void block_scan(int* out, int* totals, const int* in, int n)
{
    extern __shared__ int temp[];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    int pout = 0, pin = 1;
    temp[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset <<= 1) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (tid >= offset)
            temp[pout * blockDim.x + tid] =
                temp[pin * blockDim.x + tid] + temp[pin * blockDim.x + tid - offset];
        else
            temp[pout * blockDim.x + tid] = temp[pin * blockDim.x + tid];
        __syncthreads();
    }
    if (i < n) out[i] = temp[pout * blockDim.x + tid];
    if (tid == blockDim.x - 1) totals[blockIdx.x] = temp[pout * blockDim.x + tid];
}
