// smallest_by_max_of_bits.cu -- the bits of negative floats, as ints, have the other order: most is the smallest
//
// launch: grid=1 block=256
// arguments: out float smallest 1; in float x 256 integers
// result: smallest = [(-1 - np.abs(x)).min()]

extern "C" __global__ void smallest_by_max_of_bits(float* smallest, const float* x)
{
    __shared__ int bits;
    const int t = threadIdx.x;
    if (t == 0) {
        bits = 0x80000000;   // of -0.0f
    }
    __syncthreads();
    atomicMax(&bits, __float_as_int(-1.0f - fabsf(x[t])));
    __syncthreads();
    if (t == 0) {
        *smallest = __int_as_float(bits);
    }
}
