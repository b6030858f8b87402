// conv1d_unwritten_ends.cu -- WRONG ON PURPOSE: the guard that protects the reads drops the outputs
//
// Mutant of  conv1d_basic (lab 02)
// Wrong      outputs whose filter reaches over an end of N are skipped, so the first and last R outputs are never
//            written. A published course report has this bug.
// Message    check: halo

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_unwritten_ends(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i - RADIUS >= 0 && i + RADIUS < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += N[i - RADIUS + j] * filter[j];
        }
        P[i] = sum;
    }
}
