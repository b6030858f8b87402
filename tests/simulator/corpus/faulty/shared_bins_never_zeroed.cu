// shared_bins_never_zeroed.cu -- WRONG ON PURPOSE: the shared bins start with leftovers
//
// fault: uninitialised
// array: local
// launch: grid=2 block=64
// arguments: inout int bins 100 zeros; in int values 500 below=100; int n=500

extern "C" __global__ void shared_bins_never_zeroed(int* bins, const int* values, int n)
{
    __shared__ int local[100];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[values[i]], 1); // <- here
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 100; b += blockDim.x) {
        atomicAdd(&bins[b], local[b]); // <- here
    }
}
