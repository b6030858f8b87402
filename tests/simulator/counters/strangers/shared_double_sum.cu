// shared_double_sum.cu -- doubles added in shared memory by the compare-and-swap loop of old
// programming guides
__device__ double addDouble(double* address, double val)
{
    unsigned long long int* p = (unsigned long long int*)address;
    unsigned long long int old = *p, assumed;
    do {
        assumed = old;
        old = atomicCAS(p, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

extern "C" __global__ void shared_double_sum(double* out, const double* x, const int* bin, int n)
{
    __shared__ double sums[16];
    if (threadIdx.x < 16) sums[threadIdx.x] = 0.0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) addDouble(&sums[bin[i] & 15], x[i]);
    __syncthreads();
    if (threadIdx.x < 16) out[blockIdx.x * 16 + threadIdx.x] = sums[threadIdx.x];
}
