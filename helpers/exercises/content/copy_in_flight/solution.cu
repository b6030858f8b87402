// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;     // cells that the whole grid copies at a time
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;

    for (int first = start; first < n; first += round) {
        float value[LOADS];
        //> 1. Start all loads: value[k] is the cell first + k * THREADS, if there is one.
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            value[k] = i < n ? in[i] : 0.0f;
        }
        //<

        //> 2. Store them, in a loop of its own.
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            if (i < n) out[i] = value[k];
        }
        //<
    }
}
