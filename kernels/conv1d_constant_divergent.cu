// conv1d_constant_divergent.cu -- 1D convolution, serialised on purpose: lanes want different words
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       Lane l starts its sum at tap l instead of tap 0. The sum is the same up to rounding,
//            but in every step the lanes of a warp want up to 32 different filter words, and
//            constant memory serves one word at a time. Serialised on purpose, to be measured
//            against conv1d_constant.
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

extern "C" __global__ void conv1d_constant_divergent(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;

    if (i < n) {
        float sum = 0.0f;
        // Serialised on purpose: a warp wants min(32, FILTER_WIDTH) different words.
        int tap = lane % FILTER_WIDTH;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            const int cell = i - RADIUS + tap;
            if (cell >= 0 && cell < n) {
                sum += N[cell] * filter[tap];
            }
            tap = tap + 1 < FILTER_WIDTH ? tap + 1 : 0;
        }
        P[i] = sum;
    }
}
