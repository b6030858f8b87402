// histogram_plain_increment.cu -- WRONG ON PURPOSE: bins of a shared histogram are incremented without an atomic
//
// fault: race
// array: local
// launch: grid=4 block=256
// arguments: inout int bins 16 zeros; in int values 1000 below=16; int n=1000

extern "C" __global__ void histogram_plain_increment(int* bins, const int* values, int n)
{
    __shared__ int local[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < n) {
        local[values[i]] += 1; // <- here
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}
