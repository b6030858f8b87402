// conv1d_flipped_filter.cu -- WRONG ON PURPOSE: convolution where cross-correlation was asked
//
// Mutant of  conv1d_basic (lab 02)
// Wrong      the filter is read from its last tap to its first.
// Message    check: suspect (the filter is flipped)

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_flipped_filter(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[FILTER_WIDTH - 1 - j];
            }
        }
        P[i] = sum;
    }
}
