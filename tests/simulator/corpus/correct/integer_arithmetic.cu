// integer_arithmetic.cu -- integer division, shifts, wrapping products and bit counts
//
// launch: grid=1 block=64
// arguments: out unsigned y 64x4; in unsigned x 64 below=100000
// result: y = np.stack([x // 7, (x * 2654435761) % 2**32, bits(x), (x << 3) ^ (x >> 2)], axis=1)

extern "C" __global__ void integer_arithmetic(unsigned* y, const unsigned* x)
{
    const int t = threadIdx.x;
    const unsigned v = x[t];
    y[4 * t] = v / 7;
    y[4 * t + 1] = v * 2654435761u;
    y[4 * t + 2] = __popc(v);
    y[4 * t + 3] = (v << 3) ^ (v >> 2);
}
