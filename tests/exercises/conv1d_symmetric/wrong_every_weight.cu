// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) sum += N[cell] * filter[j];
        }
        P[i] = sum;
    }
}
