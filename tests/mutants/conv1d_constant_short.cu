// conv1d_constant_short.cu -- WRONG ON PURPOSE: the constant array is narrower than the filter
//
// Mutant of  conv1d_constant (lab 03)
// Wrong      `filter` has room for FILTER_WIDTH - 1 words, so the last tap is read from behind it.
// Message    simulator: out-of-bounds, array filter

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH - 1];

extern "C" __global__ void conv1d_constant_short(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[j];
            }
        }
        P[i] = sum;
    }
}
