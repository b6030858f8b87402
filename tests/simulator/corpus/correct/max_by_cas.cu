// max_by_cas.cu -- a maximum of floats by atomicCAS
//
// twin: max_read_then_written
// launch: grid=2 block=64
// arguments: inout float most 1 zeros; in float x 128 uniform
// result: most = [x.max()]

extern "C" __global__ void max_by_cas(float* most, const float* x)
{
    const float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    int* bits = reinterpret_cast<int*>(most);
    int seen = atomicAdd(bits, 0);
    while (value > __int_as_float(seen)) {
        const int before = atomicCAS(bits, seen, __float_as_int(value));
        if (before == seen) break;
        seen = before;
    }
}
