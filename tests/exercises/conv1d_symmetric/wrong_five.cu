// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

__global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float outer = (i >= 2 ? N[i - 2] : 0.0f) + (i + 2 < n ? N[i + 2] : 0.0f);
    const float inner = (i >= 1 ? N[i - 1] : 0.0f) + (i + 1 < n ? N[i + 1] : 0.0f);
    P[i] = outer * filter[0] + inner * filter[1] + N[i] * filter[2];
}
