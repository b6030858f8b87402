// %%kernel copy_in_flight -DTHREADS=64 -DLOADS=4
__global__ void copy_in_flight(float* out, const float* in, int n)
{
    const int round = gridDim.x * THREADS * LOADS;
    const int start = blockIdx.x * THREADS * LOADS + threadIdx.x;
    for (int first = start; first < n; first += round) {
        float value[LOADS] = {};
        value[0] = in[first];
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            if (i < n) out[i] = value[k];
        }
    }
}
