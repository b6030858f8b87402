// conv1d_one_block.cu -- 1D convolution by a single block that walks over the whole array
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       Threads of one block take neighbouring outputs, then all step ahead by the block's
//            width: right for any n with no grid at all, but it uses one multiprocessor of the GPU
//            (one block only on purpose).
// Arrays     N, P: float32, shape (n,); filter: float32, shape (FILTER_WIDTH,); P must not alias
//            the others.
// Launch     block = (any, 1, 1), 1,024 unless said otherwise; grid = (1, 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); FILTER_WIDTH odd.
// Memory     no shared, no constant: the filter is read from global memory.
// Constants  FILTER_WIDTH by -D (default below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

extern "C" __global__ void conv1d_one_block(float* P, const float* N, const float* filter, int n)
{
    // In each round the threads of a warp touch neighbouring cells, so the accesses stay coalesced.
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
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
