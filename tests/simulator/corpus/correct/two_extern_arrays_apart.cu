// two_extern_arrays_apart.cu -- two names of dynamic shared memory, the second used from its middle
//
// twin: two_extern_arrays
// launch: grid=2 block=64 shared=512
// arguments: out float y 128; in float a 128 uniform; in float b 128 uniform
// result: y = a.reshape(2, 64)[:, ::-1].ravel() * b

extern "C" __global__ void two_extern_arrays_apart(float* y, const float* a, const float* b)
{
    extern __shared__ float row[];
    extern __shared__ float column[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    row[t] = a[i];
    column[blockDim.x + t] = b[i];
    __syncthreads();
    y[i] = row[63 - t] * column[blockDim.x + t];
}
