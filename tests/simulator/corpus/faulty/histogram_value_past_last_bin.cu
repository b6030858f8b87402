// histogram_value_past_last_bin.cu -- WRONG ON PURPOSE: a value of 256 has no bin: the bins are 0 to 255
//
// fault: out-of-bounds
// array: bins
// launch: grid=4 block=256
// arguments: inout int bins 256 zeros; in int values 1000 below=300; int n=1000

extern "C" __global__ void histogram_value_past_last_bin(int* bins, const int* values, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[values[i]], 1); // <- here
    }
}
