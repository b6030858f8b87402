// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;
    for (int first = start; first < n; first += round) {
        float value[LOADS];
        const float* from = in + first;
        #pragma unroll
        for (int k = 0; k < LOADS; ++k)
            value[k] = k * THREADS < n - first ? from[k * THREADS] : -1.0f;
        #pragma unroll
        for (int k = LOADS - 1; k >= 0; --k)
            if (k * THREADS < n - first) out[first + k * THREADS] = value[k];
    }
}
