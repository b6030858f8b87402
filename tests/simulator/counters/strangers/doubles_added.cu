// doubles_added.cu -- double sums: one atomic for each warp, and one by compare-and-swap
__device__ double multiplyAtomically(double* address, double factor)
{
    unsigned long long* word = (unsigned long long*)address;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed,
            __double_as_longlong(factor * __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

extern "C" __global__ void doubles_added(double* sum, double* products, const double* x, int n)
{
    const int i = threadIdx.x;
    double v = i < n ? x[i] : 0.0;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (i == 0) atomicAdd(sum, v);
    if (i < n) multiplyAtomically(&products[i], x[i]);
}
