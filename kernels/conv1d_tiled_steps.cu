// conv1d_tiled_steps.cu -- 1D convolution, tile and both halos staged in shared memory in steps
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       The block owns TILE_WIDTH outputs and needs 2R more cells than it has threads, so it
//            loads in steps: all threads a first step, the first 2R threads a second one (more when
//            the halo is wider than the tile). N is read about once from global memory; the
//            FILTER_WIDTH reads of each output hit shared memory.
// Arrays     N, P: float32, shape (n,); filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (TILE_WIDTH, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last tile may be partial.
//            FILTER_WIDTH odd, <= 4,095.
// Memory     shared: (TILE_WIDTH + 2R) * 4 bytes, static.
//            constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH, FILTER_WIDTH by -D (defaults below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef TILE_WIDTH
#define TILE_WIDTH 256
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_tiled_steps(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    // tile[0] holds this cell of N; it is negative in block 0.
    const int first = blockIdx.x * TILE_WIDTH - RADIUS;

    // Load. Ghost cells become zeros here, once, so the sum below needs no guard.
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }

    // Every output reads cells that other threads loaded. Threads past the end of P loaded cells
    // too: no return above.
    __syncthreads();

    // Compute and store. Output i sits at tile[threadIdx.x + R]; its taps span
    // tile[threadIdx.x .. threadIdx.x + 2R].
    const int i = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum += tile[threadIdx.x + j] * filter[j];
        }
        P[i] = sum;
    }
}
