// conv2d_implicit_mma.cu -- a convolution layer as an implicit product of halves
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,S h+p,S w+q] * filter[m,c,p,q], NCHW, valid, unflipped
// Idea       A product of matrices on tensor cores whose left factor is never stored: a row of it
//            is the window of an output. A block stages its cells once, channels innermost, so that
//            8 channels of a cell are 16 bytes: a row for ldmatrix. For each weight of a channel,
//            the 16 outputs of a fragment find their cells where they lie, K * K times in all.
// Arrays     x: float32, or half (HALF_IO), (B, C, H, W), |x| < 65,504; y: alike, (B, M, out_h,
//            out_w), aligned to 8 bytes; must not alias. filter: fragments of B as halves, times a
//            power of two; behind them 1 over this power.
// Launch     block = (32 * WARPS_DOWN * WARPS_ACROSS, 1, 1); grid = (tiles, MAP_GROUPS)
// Sizes      any. A chunk of the cells of a tile must fit into shared memory.
// Memory     shared, dynamic: CELLS * 16 bytes.
// Constants  in implicit.cuh; PARTS = 1.
// Reference  helpers.reference.conv2d of the rounded arrays

#ifndef PARTS
#define PARTS 1
#endif
#include "implicit.cuh"
static_assert(PARTS == 1, "conv2d_implicit_mma needs PARTS = 1; use conv2d_implicit_mma_split");

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_implicit_mma(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(128) uint4 cells[];   // [octet][image][row][column]
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = warp % WARPS_DOWN * ROW_TILES * 16;     // of A
    const int first_fragment = warp / WARPS_DOWN * MAP_TILES;     // of B, in the block
    const int first_map = (blockIdx.y * BLOCK_FRAGMENTS + first_fragment) * 8;
    const Origin origin = origin_of(blockIdx.x);

    int corner[ROW_TILES];
    find_corners(corner, first_row);

    Sums sum = {};
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        // Load the cells of a chunk.
        if (chunk > 0) {
            __syncthreads();   // not before all have read what is now overwritten
        }
        #pragma unroll 2   // the loads of two rounds are under way
        for (int round = 0; round < ROUNDS; ++round) {
            const OctetPlace at = octet_place(round);
            RawOctets raw;
            load_octets(raw, x, at, origin, chunk, B);
            store_octets(cells, raw, at);
        }
        __syncthreads();   // fragments hold cells that others staged

        // Multiply, 16 terms at a time. A lane's part of the weights is 8 bytes in global memory.
        const uint2* weights =
            filter + (blockIdx.y * CHUNKS + chunk) * WEIGHTS + first_fragment * 32 + lane;
        #pragma unroll UNROLLED
        for (int step = 0; step < STEPS; ++step) {
            uint2 b[MAP_TILES];
            #pragma unroll
            for (int n = 0; n < MAP_TILES; ++n) {
                b[n] = weights[(step * BLOCK_FRAGMENTS + n) * 32];
            }
            const int lane_octet = lane_offset(step);
            const uint4* first = cells + slice_offset(2 * step, false);
            #pragma unroll
            for (int m = 0; m < ROW_TILES; ++m) {
                const uint4 a = load_fragment(first + (corner[m] + lane_octet));
                #pragma unroll
                for (int n = 0; n < MAP_TILES; ++n) {
                    multiply(sum[m][n], a, b[n].x, b[n].y);
                }
            }
        }
    }
    store_sums(y, sum, origin, first_row, first_map, inverse_scale(), B);
}
