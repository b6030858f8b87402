// conv1d_no_ghost_guard.cu -- WRONG ON PURPOSE: ghost cells are read
//
// Mutant of  conv1d_basic (lab 02)
// Wrong      the cells before the first and after the last are not there, but nothing stops the sum from reading them.
// Message    simulator: out-of-bounds, array N

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_no_ghost_guard(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += N[i - RADIUS + j] * filter[j];
        }
        P[i] = sum;
    }
}
