// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;
    float next[LOADS];
    for (int k = 0; k < LOADS; ++k) {
        const int i = start + k * THREADS;
        next[k] = i < n ? in[i] : 0.0f;
    }
    for (int first = start; first < n; first += round) {
        float value[LOADS];
        for (int k = 0; k < LOADS; ++k) {
            value[k] = next[k];
            const int i = first + round + k * THREADS;
            if (i < n) next[k] = in[i];
        }
        for (int k = 0; k < LOADS; ++k)
            if (first + k * THREADS < n) out[first + k * THREADS] = value[k];
    }
}
