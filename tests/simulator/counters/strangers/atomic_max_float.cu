// atomic_max_float.cu -- the greatest float of each group by a compare-and-swap loop
__device__ float atomicMaxFloat(float* address, float value)
{
    int* as_int = (int*)address;
    int old = *as_int, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value) break;
        old = atomicCAS(as_int, assumed, __float_as_int(value));
    } while (assumed != old);
    return __int_as_float(old);
}

extern "C" __global__ void atomic_max_float(float* best, const float* x, const int* group, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMaxFloat(&best[group[i]], x[i]);
}
