// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    //> your kernel: a thread for each output, as in conv1d_constant, for any odd FILTER_WIDTH
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = N[i] * filter[RADIUS];
        for (int j = 0; j < RADIUS; ++j) {
            const int left = i - RADIUS + j, right = i + RADIUS - j;
            const float pair = (left >= 0 ? N[left] : 0.0f) + (right < n ? N[right] : 0.0f);
            sum += pair * filter[j];
        }
        P[i] = sum;
    }
    //<
}
