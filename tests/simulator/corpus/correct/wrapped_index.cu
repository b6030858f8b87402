// wrapped_index.cu -- a ring: 64 is added before the remainder is taken
//
// twin: negative_remainder
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.roll(x, 1)

extern "C" __global__ void wrapped_index(float* y, const float* x)
{
    __shared__ float ring[64];
    const int t = threadIdx.x;
    ring[t] = x[t];
    __syncthreads();
    y[t] = ring[(t + 63) % 64];
}
