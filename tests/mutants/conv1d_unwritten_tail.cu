// conv1d_unwritten_tail.cu -- WRONG ON PURPOSE: a partial last block does nothing
//
// Mutant of  conv1d_basic (lab 02)
// Wrong      only whole blocks work: when n is not a multiple of the block, the outputs of the last, partial block are
//            never written. A published course report has this bug.
// Message    check: last block

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_unwritten_tail(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ((blockIdx.x + 1) * blockDim.x <= n) {
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
