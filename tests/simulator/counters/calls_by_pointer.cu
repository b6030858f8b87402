// calls_by_pointer.cu -- each lane calls the function that its number chooses from a table
typedef float (*Step)(const float*, int);

__device__ __noinline__ float first(const float* x, int t) { return x[t]; }
__device__ __noinline__ float second(const float* x, int t) { return x[t] + x[t + 64]; }
__device__ __noinline__ float third(const float* x, int t) { return x[t] * x[t + 128]; }
__device__ Step steps[3] = {first, second, third};

extern "C" __global__ void calls_by_pointer(float* out, const float* in, const int* chosen)
{
    const int t = threadIdx.x;
    out[t] = steps[chosen[t]](in, t);
}
