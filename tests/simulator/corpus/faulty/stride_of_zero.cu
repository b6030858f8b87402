// stride_of_zero.cu -- WRONG ON PURPOSE: a stride of zero: the loop stays where it is
//
// fault: runaway
// also: race
// launch: grid=2 block=64
// arguments: inout float y 1000 zeros; int n=1000; int stride=0

extern "C" __global__ void stride_of_zero(float* y, int n, int stride)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) { // <- here
        y[i] = i; // <- here
    } // <- here
}
