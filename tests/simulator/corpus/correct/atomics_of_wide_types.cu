// atomics_of_wide_types.cu -- atomics on 64-bit integers and doubles
//
// launch: grid=2 block=64
// arguments: inout ulonglong y 1 zeros; inout double d 1 zeros; in int x 128 below=1000
// result: y = [int(x.sum()) << 20]
// result: d = [x.sum() / 4]

extern "C" __global__ void atomics_of_wide_types(unsigned long long* y, double* d, const int* x)
{
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(y, static_cast<unsigned long long>(value) << 20);
    atomicAdd(d, value / 4.0);
}
