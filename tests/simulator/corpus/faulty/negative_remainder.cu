// negative_remainder.cu -- WRONG ON PURPOSE: (t - 1) % 64 of a signed 0 is -1, not 63
//
// fault: out-of-bounds
// array: ring
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void negative_remainder(float* y, const float* x)
{
    __shared__ float ring[64];
    const int t = threadIdx.x;
    ring[t] = x[t];
    __syncthreads();
    y[t] = ring[(t - 1) % 64]; // <- here
}
