// two_extern_arrays.cu -- WRONG ON PURPOSE: two arrays of dynamic shared memory, which are one and the same
//
// fault: overlap
// array: row
// launch: grid=2 block=64 shared=512
// arguments: out float y 128; in float a 128 uniform; in float b 128 uniform

extern "C" __global__ void two_extern_arrays(float* y, const float* a, const float* b)
{
    extern __shared__ float row[];
    extern __shared__ float column[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    row[t] = a[i];
    column[t] = b[i]; // <- here
    __syncthreads();
    y[i] = row[63 - t] * column[t]; // <- here
}
