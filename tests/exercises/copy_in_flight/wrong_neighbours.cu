// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;
    for (int first = (blockIdx.x * THREADS + threadIdx.x) * LOADS; first < n; first += round) {
        float value[LOADS];
        for (int k = 0; k < LOADS; ++k) value[k] = first + k < n ? in[first + k] : 0.0f;
        for (int k = 0; k < LOADS; ++k) if (first + k < n) out[first + k] = value[k];
    }
}
