// only_atomics.cu -- every access to the maximum is an atomic
//
// twin: plain_store_beside_atomics
// launch: grid=2 block=64
// arguments: inout int most 1 zeros; in int x 128 below=1000
// result: most = [x.max()]

extern "C" __global__ void only_atomics(int* most, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(most, x[i]);
}
