// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

__global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const float mine = filter[lane < FILTER_WIDTH ? lane : 0];
    float sum = 0.0f;
    for (int j = 0; j < FILTER_WIDTH; ++j) {
        const int cell = i - RADIUS + j;
        const float weight = __shfl_sync(0xffffffff, mine, j);
        if (cell >= 0 && cell < n) sum += N[cell] * weight;
    }
    if (i < n) P[i] = sum;
}
