// atomics_of_every_kind.cu -- atomics on global memory: the end does not depend on the order
//
// launch: grid=4 block=64
// arguments: inout int y 8 zeros; inout unsigned u 3 zeros; in int x 256 below=1000
// result: y = [x.sum(), -x.sum(), x.max(), 0, np.bitwise_or.reduce(x), 0, np.bitwise_xor.reduce(x), 7]
// result: u = [255 % 101 + 1, 0, x.max()]

extern "C" __global__ void atomics_of_every_kind(int* y, unsigned* u, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&y[0], value);
    atomicSub(&y[1], value);
    atomicMax(&y[2], value);
    atomicMin(&y[3], value);
    atomicOr(&y[4], value);
    atomicAnd(&y[5], value);
    atomicXor(&y[6], value);
    atomicExch(&y[7], 7);
    atomicInc(&u[0], 100u);
    atomicDec(&u[1], 0u);
    atomicMax(&u[2], unsigned(value));
}
