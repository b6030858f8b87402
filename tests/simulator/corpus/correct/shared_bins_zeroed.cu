// shared_bins_zeroed.cu -- shared bins zeroed in a loop, for more bins than threads
//
// twin: shared_bins_never_zeroed
// launch: grid=2 block=64
// arguments: inout int bins 100 zeros; in int values 500 below=100; int n=500
// result: bins = np.bincount(values, minlength=100)

extern "C" __global__ void shared_bins_zeroed(int* bins, const int* values, int n)
{
    __shared__ int local[100];
    for (int b = threadIdx.x; b < 100; b += blockDim.x) {
        local[b] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[values[i]], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 100; b += blockDim.x) {
        atomicAdd(&bins[b], local[b]);
    }
}
