// %%kernel conv1d_symmetric -DFILTER_WIDTH=5
#define RADIUS (FILTER_WIDTH / 2)
__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_symmetric(float* P, const float* N, int n)
{
    // your kernel: a thread for each output, as in conv1d_constant
}
