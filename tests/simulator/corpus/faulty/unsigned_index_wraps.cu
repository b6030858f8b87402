// unsigned_index_wraps.cu -- WRONG ON PURPOSE: -1 as an unsigned number is four billion
//
// fault: out-of-bounds
// array: x
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void unsigned_index_wraps(float* y, const float* x)
{
    const unsigned left = threadIdx.x - 1;
    y[threadIdx.x] = x[left]; // <- here
}
