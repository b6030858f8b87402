// calls_itself.cu -- a sum of a list by a function that calls itself, to depths of each lane's own
__device__ __noinline__ float rest(const float* x, int first, int end)
{
    if (first >= end) return 0;
    return rest(x, first + 1, end) + x[first];
}

extern "C" __global__ void calls_itself(float* out, const float* in, const int* lengths)
{
    const int t = threadIdx.x;
    out[t] = rest(in, t, t + lengths[t]);
}
