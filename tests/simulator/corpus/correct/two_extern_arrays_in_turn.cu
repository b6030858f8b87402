// two_extern_arrays_in_turn.cu -- two names of dynamic shared memory, one used after the other
//
// twin: two_extern_arrays
// launch: grid=2 block=64 shared=256
// arguments: out float y 128; in float a 128 uniform; in int b 128 small
// result: y = a.reshape(2, 64)[:, ::-1].ravel() * b.reshape(2, 64)[:, ::-1].ravel()

extern "C" __global__ void two_extern_arrays_in_turn(float* y, const float* a, const int* b)
{
    extern __shared__ float values[];
    extern __shared__ int factors[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = a[i];
    __syncthreads();
    const float value = values[63 - t];
    __syncthreads();
    factors[t] = b[i];
    __syncthreads();
    y[i] = value * factors[63 - t];
}
