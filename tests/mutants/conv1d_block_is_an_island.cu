// conv1d_block_is_an_island.cu -- WRONG ON PURPOSE: cells of the neighbouring blocks count as 0
//
// Mutant of  conv1d_basic (lab 02)
// Wrong      the halo is missing: a cell that another block owns is taken for a ghost cell, so the outputs on both
//            sides of every block boundary are wrong.
// Message    check: tile borders

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_block_is_an_island(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int start = blockIdx.x * blockDim.x;
    const int end = start + blockDim.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;
            if (cell >= start && cell < end && cell < n) {
                sum += N[cell] * filter[j];
            }
        }
        P[i] = sum;
    }
}
