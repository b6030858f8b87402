// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

__global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    for (int i = threadIdx.x; blockIdx.x == 0 && i < n; i += blockDim.x) {
        float sum = N[i] * filter[RADIUS];
        for (int j = 0; j < RADIUS; ++j) {
            const int left = i - RADIUS + j, right = i + RADIUS - j;
            sum += ((left >= 0 ? N[left] : 0.0f) + (right < n ? N[right] : 0.0f)) * filter[j];
        }
        P[i] = sum;
    }
}
