// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    __shared__ float s[1024 + 2 * RADIUS + 1];
    const int b = blockDim.x, first = blockIdx.x * b - RADIUS, t = threadIdx.x;
    for (int k = t; k < b + 2 * RADIUS; k += b) s[k] = first + k >= 0 && first + k < n ? N[first + k] : 0.0f;
    __syncthreads();
    if (first + t + RADIUS >= n) return;
    float sum = s[t + RADIUS] * filter[RADIUS];
    for (int j = RADIUS - 1; j >= 0; --j) sum += (s[t + j] + s[t + 2 * RADIUS - j]) * filter[j];
    P[first + t + RADIUS] = sum;
}
