// histogram_atomic.cu -- a histogram privatised in shared memory, merged with atomics
//
// twin: histogram_plain_increment
// launch: grid=4 block=256
// arguments: inout int bins 16 zeros; in int values 1000 below=16; int n=1000
// result: bins = np.bincount(values, minlength=16)

extern "C" __global__ void histogram_atomic(int* bins, const int* values, int n)
{
    __shared__ int local[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < n) {
        atomicAdd(&local[values[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}
