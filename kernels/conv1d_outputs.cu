// conv1d_outputs.cu -- 1D convolution, several neighbouring outputs per thread
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation)
// Idea       A thread makes OUTPUTS neighbouring outputs. It reads a cell from shared memory into a
//            register once and adds it to every output that wants it: OUTPUTS + 2R shared loads in
//            place of OUTPUTS * FILTER_WIDTH. Lanes are OUTPUTS cells apart: an odd OUTPUTS meets
//            32 different banks, whatever the compiler does; 4 and 8 have bank conflicts.
// Arrays     N, P: float32, shape (n,); filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (TILE_WIDTH / OUTPUTS, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int); the last tile may be partial.
//            FILTER_WIDTH odd, <= 4,095.
// Memory     shared: (TILE_WIDTH + 2R) * 4 bytes, static.
//            constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH (outputs of a block, a multiple of OUTPUTS), OUTPUTS, FILTER_WIDTH by -D
//            (defaults below). R = FILTER_WIDTH / 2.
// Reference  helpers.reference.conv1d

#ifndef OUTPUTS
#define OUTPUTS 9
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH (128 * OUTPUTS)
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#if TILE_WIDTH % OUTPUTS != 0
#error "conv1d_outputs: TILE_WIDTH must be a multiple of OUTPUTS"
#endif
#define RADIUS (FILTER_WIDTH / 2)
#define THREADS (TILE_WIDTH / OUTPUTS)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_outputs(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int start = blockIdx.x * TILE_WIDTH;

    // Load the tile and both halos, coalesced; ghost cells become zeros.
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += THREADS) {
        const int cell = start - RADIUS + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    __syncthreads();   // outputs read cells that other threads loaded

    // Compute: cell c of this thread's window is tap c - o of output o. Unrolled, every index below
    // is a constant.
    const int mine = threadIdx.x * OUTPUTS;
    float sum[OUTPUTS] = {};
    #pragma unroll 64
    for (int c = 0; c < OUTPUTS + 2 * RADIUS; ++c) {
        const float value = tile[mine + c];
        #pragma unroll
        for (int o = 0; o < OUTPUTS; ++o) {
            if (c >= o && c - o < FILTER_WIDTH) {
                sum[o] += value * filter[c - o];
            }
        }
    }

    // Store through the tile, so that lanes write neighbouring outputs.
    __syncthreads();   // all reads of the tile are done before its cells are replaced
    #pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
        tile[mine + o] = sum[o];
    }
    __syncthreads();   // a thread stores outputs that other threads computed
    for (int s = threadIdx.x; s < TILE_WIDTH && start + s < n; s += THREADS) {
        P[start + s] = tile[s];
    }
}
