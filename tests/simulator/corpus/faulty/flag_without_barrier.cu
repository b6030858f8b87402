// flag_without_barrier.cu -- WRONG ON PURPOSE: the block's flag is read by threads that the writer has not waited for
//
// fault: race
// also: uninitialised
// array: skip
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform

extern "C" __global__ void flag_without_barrier(float* y, const float* x)
{
    __shared__ bool skip;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        skip = !(x[i] > 0.0f); // <- here
    }
    y[i] = skip ? 0.0f : x[i]; // <- here
}
