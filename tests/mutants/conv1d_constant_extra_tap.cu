// conv1d_constant_extra_tap.cu -- WRONG ON PURPOSE: one tap too many
//
// Mutant of  conv1d_constant (lab 03)
// Wrong      the loop runs to j <= FILTER_WIDTH and reads the word behind the filter, as a published course report did
//            with p = 0 .. 7 for a filter of 7.
// Message    simulator: out-of-bounds, array filter

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_constant_extra_tap(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j <= FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[j];
            }
        }
        P[i] = sum;
    }
}
