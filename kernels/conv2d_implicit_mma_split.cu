// conv2d_implicit_mma_split.cu -- the implicit product in split halves: three products for one
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,S h+p,S w+q] * filter[m,c,p,q], NCHW, valid, unflipped
// Idea       conv2d_implicit_mma_async with split numbers, as in split_product: a cell is a sum of
//            two halves, so is a weight, and three products of halves are one of FP32 numbers. The
//            cells' residuals lie CELLS octets behind the cells, and each fragment is loaded twice.
//            Tensor cores cut what does not fit into a sum; after SHORT steps the FP32 units, which
//            round, take the sums back.
// Arrays     x: float32, (B, C, H, W), |x| < 65,504; y: float32, (B, M, out_h, out_w), aligned to 8
//            bytes; must not alias. filter: fragments of B as halves, times a power of two, each
//            followed by its residuals; behind them 1 over this power.
// Launch     block = (32 * WARPS_DOWN * WARPS_ACROSS, 1, 1); grid = (blocks, MAP_GROUPS): block i
//            takes tiles i, i + gridDim.x, ...
// Sizes      any; gridDim.x <= tiles. Chunks of cells and weights must fit into shared memory.
// Memory     shared, dynamic: CELL_BUFFERS * 2 * CELLS * 16 + WEIGHT_BUFFERS * WEIGHTS * 8 bytes.
// Constants  in implicit.cuh, and CELL_BUFFERS (1: a second barrier in each round; 2),
//            WEIGHT_BUFFERS (CHUNKS: all weights stay; 2), SHORT (steps of a short sum);
//            PARTS = 2, HALF_IO = 0.
// Reference  helpers.reference.conv2d

#ifndef PARTS
#define PARTS 2
#endif
#ifndef CELL_BUFFERS
#define CELL_BUFFERS 1
#endif
#ifndef WEIGHT_BUFFERS
#define WEIGHT_BUFFERS 1
#endif
#ifndef SHORT
#define SHORT 7
#endif
#include "implicit.cuh"
static_assert(PARTS == 2 && !HALF_IO,
              "conv2d_implicit_mma_split: PARTS = 2, HALF_IO = 0; else conv2d_implicit_mma_async");
static_assert(WEIGHT_BUFFERS == CHUNKS || WEIGHT_BUFFERS == 2, "weights: all chunks, or 2 buffers");

// total += sum, in FP32, and the sum begins again at 0.
__device__ __forceinline__ void add_and_clear(Sums& total, Sums& sum)
{
    for (int m = 0; m < ROW_TILES; ++m) {
        for (int n = 0; n < MAP_TILES; ++n) {
            for (int i = 0; i < 4; ++i) {
                total[m][n][i] += sum[m][n][i];
                sum[m][n][i] = 0.0f;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_implicit_mma_split(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(128) uint4 memory[];
    uint4* all_cells = memory;   // [buffer][part][octet][image][row][column]
    // [buffer], behind the cells
    uint2* all_weights = reinterpret_cast<uint2*>(memory + CELL_BUFFERS * PARTS * CELLS);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first_row = warp % WARPS_DOWN * ROW_TILES * 16;     // of A
    const int first_fragment = warp / WARPS_DOWN * MAP_TILES;     // of B, in the block
    const int first_map = (blockIdx.y * BLOCK_FRAGMENTS + first_fragment) * 8;
    const int tiles = tiles_of(B);
    const uint2* block_filter = filter + blockIdx.y * CHUNKS * WEIGHTS;
    const float scale = inverse_scale();

    int corner[ROW_TILES];
    find_corners(corner, first_row);

    // Ask for the first cells, and for the weights: all, or the first chunk's.
    RawOctets raw[ROUNDS];
    load_cells(raw, x, origin_of(blockIdx.x), 0, B);
    copy_weights<WEIGHT_BUFFERS == CHUNKS ? CHUNKS : 1>(all_weights, block_filter);

    int buffer = 0;   // [0, 2)
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Sums total = {};
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            // Store the cells that have arrived. All threads must see them, and the weights.
            uint4* cells = all_cells + (CELL_BUFFERS == 2 ? buffer : 0) * PARTS * CELLS;
            store_cells(cells, raw);
            wait_for_copies();
            __syncthreads();

            // Ask for the next chunk, of this tile or of the next one.
            const bool last = chunk == CHUNKS - 1;
            const int next_tile = last ? tile + gridDim.x : tile;
            const int next_chunk = last ? 0 : chunk + 1;
            if (next_tile < tiles) {
                load_cells(raw, x, origin_of(next_tile), next_chunk, B);
                if (WEIGHT_BUFFERS != CHUNKS) {
                    copy_weights<1>(
                        all_weights + (buffer ^ 1) * WEIGHTS, block_filter + next_chunk * WEIGHTS);
                }
            }

            // Multiply.
            const uint2* weights = all_weights + first_fragment * 32 + lane
                + (WEIGHT_BUFFERS == CHUNKS ? chunk : buffer) * WEIGHTS;
            Sums sum = {};
            #pragma unroll UNROLLED
            for (int step = 0; step < STEPS; ++step) {
                uint2 b[PARTS][MAP_TILES];
                uint4 a[PARTS][ROW_TILES];
                const int lane_octet = lane_offset(step);
                const uint4* first = cells + slice_offset(2 * step, false);
                #pragma unroll
                for (int part = 0; part < PARTS; ++part) {
                    #pragma unroll
                    for (int n = 0; n < MAP_TILES; ++n) {
                        b[part][n] = weights[((step * PARTS + part) * BLOCK_FRAGMENTS + n) * 32];
                    }
                    #pragma unroll
                    for (int m = 0; m < ROW_TILES; ++m) {
                        a[part][m] = load_fragment(first + part * CELLS + (corner[m] + lane_octet));
                    }
                }

                // Products that follow each other go to different sums: none waits for the one
                // before.
                #pragma unroll
                for (int product = 0; product < PRODUCTS; ++product) {
                    #pragma unroll
                    for (int m = 0; m < ROW_TILES; ++m) {
                        #pragma unroll
                        for (int n = 0; n < MAP_TILES; ++n) {
                            const uint2& weight = b[weight_part(product)][n];
                            multiply(sum[m][n], a[cell_part(product)][m], weight.x, weight.y);
                        }
                    }
                }

                // Take the short sum back.
                if (step % SHORT == SHORT - 1 || step == STEPS - 1) {
                    add_and_clear(total, sum);
                }
            }
            // With two buffers the barrier of the next round is enough: until then, faster threads
            // store into the other buffer only.
            buffer ^= 1;
            if (CELL_BUFFERS == 1) {
                __syncthreads();   // not before all have read what is stored next
            }
        }
        store_sums(y, total, origin_of(tile), first_row, first_map, scale, B);
    }
}
