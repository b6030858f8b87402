// %%kernel conv1d_constant_divergent -DFILTER_WIDTH=7
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_constant_divergent(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            //> Which weight does this thread take in step j? Thread t of its block begins with
            //> weight t, and takes the next one in each step. After the last weight comes weight 0.
            //= const int tap = 0;
            const int tap = (threadIdx.x + j) % FILTER_WIDTH;
            //<
            const int cell = i - RADIUS + tap;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[tap];
            }
        }
        P[i] = sum;
    }
}
