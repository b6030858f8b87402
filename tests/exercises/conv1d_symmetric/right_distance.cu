// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

__global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = N[i] * filter[RADIUS];
        for (int away = 1; away <= RADIUS; ++away) {
            float cells = 0.0f;
            if (i - away >= 0) {
                cells += N[i - away];
            }
            if (i + away < n) {
                cells += N[i + away];
            }
            sum += cells * filter[RADIUS + away];
        }
        P[i] = sum;
    }
}
