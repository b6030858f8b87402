// device_counter_plain.cu -- WRONG ON PURPOSE: a __device__ counter is incremented without an atomic
//
// fault: race
// also: unwritten
// array: used
// launch: grid=2 block=64
// arguments: inout int y 128 zeros; in int x 128 below=10; constant int used 1 zeros

__device__ int used;

extern "C" __global__ void device_counter_plain(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 4) {
        y[used++] = x[i]; // <- here
    }
}
