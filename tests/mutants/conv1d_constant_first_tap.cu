// conv1d_constant_first_tap.cu -- WRONG ON PURPOSE: every tap multiplies by the first weight
//
// Mutant of  conv1d_constant (lab 03)
// Wrong      the index of the filter is forgotten: constant memory broadcasts filter[0] for every tap.
// Message    check: all

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_constant_first_tap(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[0];
            }
        }
        P[i] = sum;
    }
}
