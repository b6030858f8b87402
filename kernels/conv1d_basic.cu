// conv1d_basic.cu -- 1D convolution, one thread per output, everything in global memory
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       One thread per output, as many blocks as it takes. Ghost cells (outside N) are never
//            stored: a guard skips them. Every output is written, the first and last R included:
//            the guard is on the read, not on the output.
// Arrays     N, P: float32, shape (n,); filter: float32, shape (FILTER_WIDTH,); P must not alias
//            the others.
// Launch     block = (any, 1, 1), 256 unless said otherwise; grid = (ceil(n / blockDim.x), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last block may be partial.
//            FILTER_WIDTH odd.
// Memory     no shared, no constant: the filter is read from global memory by every thread.
// Constants  FILTER_WIDTH by -D (default below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_basic(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[j];
            }
        }
        P[i] = sum;
    }
}
