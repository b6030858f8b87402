// conv1d_tiled_input.cu -- 1D convolution, a thread per cell of the input tile, halo included
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       One thread per staged cell, halo included: a single loading step with no special case.
//            Price: the 2R threads that loaded the halo have no output, so blocks overlap by 2R
//            cells and the grid is larger.
// Arrays     N, P: float32, shape (n,); filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (TILE_WIDTH, 1, 1); grid = (ceil(n / (TILE_WIDTH - 2R)), 1): a block makes
//            TILE_WIDTH - 2R outputs
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last tile may be partial.
//            FILTER_WIDTH odd, <= TILE_WIDTH (a block must have at least one output).
// Memory     shared: TILE_WIDTH * 4 bytes, static. constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH (cells of the input tile), FILTER_WIDTH by -D (defaults below).
//            R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef TILE_WIDTH
#define TILE_WIDTH 256
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#if FILTER_WIDTH > TILE_WIDTH
#error "conv1d_tiled_input: FILTER_WIDTH is larger than TILE_WIDTH; use a wider tile"
#endif
#define RADIUS (FILTER_WIDTH / 2)
#define OUTPUT_WIDTH (TILE_WIDTH - 2 * RADIUS)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_input(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH];

    // Load: thread t stages cell i; i is also the output whose filter is centred on it.
    const int t = threadIdx.x;
    const int i = blockIdx.x * OUTPUT_WIDTH + t - RADIUS;   // [-R, n + TILE_WIDTH)
    tile[t] = i >= 0 && i < n ? N[i] : 0.0f;

    // Outputs read cells that other threads loaded; idle threads loaded some of them, so they wait
    // here too.
    __syncthreads();

    // Compute and store. The R threads at either end only loaded: their outputs belong to the
    // neighbouring blocks.
    const bool has_output = t >= RADIUS && t < TILE_WIDTH - RADIUS;
    if (has_output && i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[t - RADIUS + j] * filter[j];
        }
        P[i] = sum;
    }
}
