// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float weight[RADIUS + 1], sum = 0;    // each weight is loaded once, and multiplied twice
    #pragma unroll
    for (int j = 0; j <= RADIUS; ++j) weight[j] = filter[j];
    #pragma unroll
    for (int j = 0; j < FILTER_WIDTH; ++j) {
        const int cell = i - RADIUS + j;
        if (cell >= 0 && cell < n) sum += N[cell] * weight[j <= RADIUS ? j : 2 * RADIUS - j];
    }
    P[i] = sum;
}
