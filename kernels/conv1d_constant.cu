// conv1d_constant.cu -- 1D convolution, one thread per output, the filter in constant memory
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       All lanes of a warp read the same filter word at the same time: constant memory
//            answers that with one broadcast, and the load/store unit is left to N and P.
// Arrays     N, P: float32, shape (n,); filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (any, 1, 1), 256 unless said otherwise; grid = (ceil(n / blockDim.x), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last block may be partial.
//            FILTER_WIDTH odd, <= 16,383.
// Memory     constant: FILTER_WIDTH * 4 bytes in `filter`, to be filled before the launch.
//            shared: none.
// Constants  FILTER_WIDTH by -D (default below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_constant(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[j];    // j is the same in every lane: one broadcast
            }
        }
        P[i] = sum;
    }
}
