// windows.cuh -- convolutions as products whose columns are windows of x: for pairs and for quads
//
// The kernels conv2d_mma_* and lenet_mma_* share it, and what it includes: the product of fragments
// (mma.cuh), and an image's way through shared memory (stages.cuh).
#pragma once
#include "mma.cuh"
#include "stages.cuh"

// ------------------------------------------------------------------------------------------------
// Convolutions as products: a column of B serves a pair of outputs
//
// The 16 rows of A are output maps. A column of B holds 8 neighbouring cells of two rows of x, from
// an even column on, so that two halves are one register. With the weights as they are it gives
// output w; with the weights shifted by one column it gives output w + 1. A tile is 8 columns of B,
// that is 8 pairs of outputs, and each is computed for two rows of outputs, h and h + 1.

// A lane's sums of one tile: [row h or h + 1][shift: output w or w + 1].
typedef Accumulator PairSums[2][2];

// Adds the products of two channels to the sums of TILES tiles.
//   fragments      of A, (step, shift, part): the one that follows is STRIDE further on
//   windows        of each tile, the lane's first Pair of row h in the first channel
//   ROW, PLANE     Pairs in a row, and in a channel
//   PART           Pairs between a cell and its residual
template <int K, int ROW, int PLANE, int PART, int STRIDE, int TILES>
__device__ __forceinline__ void multiply_two_channels(
    PairSums (&sum)[TILES], const uint4* fragments, const Pair* const (&windows)[TILES])
{
    // The filter has 2 K rows in two channels. A step takes two of them, which may belong to
    // different channels: B's rows 0 to 7 are cells of the one, its rows 8 to 15 of the other. All
    // loops are unrolled, so that offsets are constants.
    #pragma unroll
    for (int step = 0; step < K; ++step) {
        const int low_row = 2 * step % K * ROW + 2 * step / K * PLANE;
        const int high_row = (2 * step + 1) % K * ROW + (2 * step + 1) / K * PLANE;

        // Products that follow each other go to different sums: none waits for the one before.
        #pragma unroll
        for (int product = 0; product < PRODUCTS; ++product) {
            #pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                #pragma unroll
                for (int row = 0; row < 2; ++row) {
                    #pragma unroll
                    for (int shift = 0; shift < 2; ++shift) {
                        const Pair* cells = windows[tile] + cell_part(product) * PART + row * ROW;
                        const int fragment = (step * 2 + shift) * PARTS + weight_part(product);
                        const uint4& a = fragments[fragment * STRIDE];
                        multiply(sum[tile][row][shift], a, cells[low_row], cells[high_row]);
                    }
                }
            }
        }
    }
}

// Adds the sums of some channels to those of the channels before, in FP32.
template <int TILES>
__device__ __forceinline__ void add(PairSums (&total)[TILES], const PairSums (&sum)[TILES])
{
    for (int tile = 0; tile < TILES; ++tile) {
        for (int row = 0; row < 2; ++row) {
            for (int shift = 0; shift < 2; ++shift) {
                for (int i = 0; i < 4; ++i) {
                    total[tile][row][shift][i] += sum[tile][row][shift][i];
                }
            }
        }
    }
}

// Stores a tile's outputs, 16 maps of OUT_H rows of OUT_W columns, in shared memory. `first` is the
// tile's first pair, counted over the pairs of the whole map; what lies beyond the last pair is
// left out.
template <int OUT_H, int OUT_W>
__device__ __forceinline__ void store_pairs(
    Cell* outputs, const PairSums& sum, int first, int g, int q, float scale)
{
    constexpr int ACROSS = OUT_W / 2;   // pairs in a row
    constexpr int PAIRS = OUT_H / 2 * ACROSS;

    // A lane has the pairs 2 q and 2 q + 1 of the tile. Lanes with q = 0 and 1 begin with the even
    // one, the others with the odd one: then the lanes of a request meet different banks.
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        const int odd = (turn + q / 2) % 2;
        const int pair = first + 2 * q + odd;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const int h = pair / ACROSS * 2 + row;
            const int w = pair % ACROSS * 2;
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                // Register 2 half + odd belongs to map g + 8 half and to the even or odd pair.
                const float left = odd ? sum[row][0][2 * half + 1] : sum[row][0][2 * half];
                const float right = odd ? sum[row][1][2 * half + 1] : sum[row][1][2 * half];
                if (pair < PAIRS) {
                    Cell* to = outputs + ((g + 8 * half) * OUT_H + h) * OUT_W + w;
                    store_outputs(to, make_float2(left * scale, right * scale));
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Convolutions as products: a column of B serves a quad of outputs
//
// For one channel and few maps. A column of B is the window of 2 x 2 outputs: 8 cells of K + 1
// rows, from an even row and column on. The 16 rows of A are 4 maps, each shifted by no or one row
// and by no or one column.

// Adds the products to the sums of QUADS quads, which lie below each other. A step takes two rows
// of a window; two rows of cells serve the windows of several quads, in different steps. `cells` is
// the lane's first Pair of the first window.
template <int STEPS, int ROW, int PART, int QUADS>
__device__ __forceinline__ void multiply_quads(
    Accumulator (&sum)[QUADS], const uint4 (&weights)[STEPS][PARTS], const Pair* cells)
{
    #pragma unroll
    for (int rows = 0; rows < STEPS + QUADS - 1; ++rows) {
        #pragma unroll
        for (int product = 0; product < PRODUCTS; ++product) {
            const Pair* low = cells + rows * 2 * ROW + cell_part(product) * PART;
            #pragma unroll
            for (int quad = 0; quad < QUADS; ++quad) {
                const int step = rows - quad;
                if (0 <= step && step < STEPS) {
                    multiply(sum[quad], weights[step][weight_part(product)], low[0], low[ROW]);
                }
            }
        }
    }
}
