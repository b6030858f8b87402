// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;     // cells that the whole grid copies at a time
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;

    for (int first = start; first < n; first += round) {
        float value[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) value[k] = in[min(first + k * THREADS, n - 1)];
        #pragma unroll
        for (int k = LOADS - 1; k >= 0; --k) if (first + k * THREADS < n) out[first + k * THREADS] = value[k];
    }
}
