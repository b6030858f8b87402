// conv2d_mma_pairs.cu -- convolution layer on tensor cores in split halves, by pairs of outputs
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       The 16 rows of A are output maps. A column of B holds 8 neighbouring cells of two
//            rows, from an even column on: two halves are one register, and always aligned. With
//            the weights as they are it gives output w; with the weights shifted by one column it
//            gives output w + 1. In split halves cells and weights are sums of two halves
//            (mma.cuh): three products for one. A tile is 8 such pairs of outputs in two rows,
//            wherever they lie in the map, so that few columns of B are spare. A block keeps its
//            weights and takes image after image: the next one arrives while it computes, and the
//            outputs of an image leave as one piece.
// Arrays     x: float32, (B, C, H, W), |x| < 65,504; y: float32, (B, M, H - K + 1, W - K + 1); both
//            aligned to 16 bytes; must not alias. filter: fragments of A as halves, times a power
//            of two, then its inverse.
// Launch     block = (32 * WARPS, 1, 1); grid = (blocks, ceil(M / 16)): block i takes images i, i +
//            gridDim.x, ...
// Sizes      1 <= gridDim.x <= B; any C, M; H and W even; K = 3, 5, 7. An image, its outputs of 16
//            maps and their weights must fit into shared memory.
// Memory     shared, dynamic: (WEIGHTS + STAGE) * 16 + (2 * PART + SPARE + 16 * OUT_H * OUT_W) * 4
//            bytes.
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K, WARPS,
//            RESIDENT (blocks of a multiprocessor) by -D (defaults below: layer 2 of the network).
//            PARTS = 2 and HALF_IO = 0.
// Reference  helpers.reference.conv2d

#ifndef CHANNELS
#define CHANNELS 4
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 16
#endif
#ifndef HEIGHT
#define HEIGHT 40
#endif
#ifndef WIDTH
#define WIDTH 40
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef PARTS
#define PARTS 2
#endif
#ifndef HALF_IO
#define HALF_IO 0
#endif
#ifndef WARPS
#define WARPS 12
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
#include "windows.cuh"
static_assert(PARTS == 2 && !HALF_IO,
              "conv2d_mma_pairs needs PARTS = 2 and HALF_IO = 0; use conv2d_mma_halves for halves");

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int THREADS = 32 * WARPS;

// An image in shared memory.
constexpr int ROW = WIDTH / 2;                          // Pairs in a row
constexpr int PLANE = HEIGHT * ROW;                     // Pairs in a channel
constexpr int PLANES = (CHANNELS + 1) / 2 * 2;          // an odd channel is multiplied with zeros
constexpr int PART = (PLANES * PLANE + 31) / 32 * 32;   // Pairs, in whole 128 bytes
constexpr int SPARE = 32;                               // Pairs read beyond the end of the last row
constexpr int IMAGE_VECTORS = CHANNELS * PLANE / 2;     // four cells each
constexpr int STAGE = (IMAGE_VECTORS + 7) / 8 * 8;      // the same in whole 128 bytes

// Fragments and tiles.
constexpr int WEIGHTS = PLANES * K * PARTS * 32;   // vectors: a fragment has one for each lane
constexpr int MAP_GROUPS = (OUTPUT_MAPS + 15) / 16;
constexpr int ACROSS = OUT_W / 2;   // pairs of outputs in a row
constexpr int COLUMNS = OUT_H / 2 * ACROSS;   // columns of B that an image needs
constexpr int TILES = 2;   // tiles of 8 columns that a warp computes at once

// [group of maps][two channels][two of their filter rows][shift][part][lane]; last: 1 / scale
__device__ uint4 filter[MAP_GROUPS * WEIGHTS + 1];

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_mma_pairs(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4* weights = reinterpret_cast<uint4*>(memory);
    Cells4* stage = reinterpret_cast<Cells4*>(weights + WEIGHTS);   // the next image, as it is in x
    Pair* cells = reinterpret_cast<Pair*>(stage + STAGE);   // this one: [part][channel][row][Pair]
    Cell* outputs = reinterpret_cast<Cell*>(cells + PARTS * PART + SPARE);   // [map][row][column]
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int g = lane / 4;
    const int q = lane % 4;
    const int map = blockIdx.y * 16;   // the block's first map

    // Load what serves all images: the weights; zeros, where an odd channel and the spare Pairs
    // lie; the scale.
    for (int i = t; i < WEIGHTS; i += THREADS) {
        weights[i] = filter[blockIdx.y * WEIGHTS + i];
    }
    for (int i = t; i < PARTS * PART + SPARE; i += THREADS) {
        cells[i] = 0;
    }
    const float scale = __uint_as_float(filter[MAP_GROUPS * WEIGHTS].x);

    const Cells4* images = reinterpret_cast<const Cells4*>(x);
    copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)blockIdx.x * IMAGE_VECTORS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        // Load: take the image that has arrived, and ask for the next one.
        wait_for_copies();
        wait_for_bulk_stores();
        // The image is complete, nobody reads the previous one's cells, and its outputs have left.
        __syncthreads();
        split_stage<PART, IMAGE_VECTORS, THREADS>(cells, stage);
        __syncthreads();   // threads read cells that others split; the stage is free
        const unsigned next = b + gridDim.x;
        if (next < B) {
            copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)next * IMAGE_VECTORS);
        }

        for (int first = t / 32 * 8 * TILES; first < COLUMNS; first += WARPS * 8 * TILES) {
            // Compute. The lane's window in each tile: the cells of column g of B. Spare columns
            // repeat the last one.
            const Pair* windows[TILES];
            for (int tile = 0; tile < TILES; ++tile) {
                const int column = min(first + tile * 8 + g, COLUMNS - 1);
                windows[tile] = cells + column / ACROSS * 2 * ROW + column % ACROSS + q;
            }
            PairSums total[TILES] = {};
            const uint4* fragments = weights + lane;
            #pragma unroll 1
            for (int channel = 0; channel < PLANES; channel += 2) {
                // Tensor cores cut off where FP32 rounds. So they sum up two channels only, and
                // FP32 adds these sums.
                PairSums sum[TILES] = {};
                multiply_two_channels<K, ROW, PLANE, PART, 32>(sum, fragments, windows);
                add(total, sum);
                fragments += 2 * K * PARTS * 32;
                for (int tile = 0; tile < TILES; ++tile) {
                    windows[tile] += 2 * PLANE;
                }
            }

            // Epilogue: the outputs of all warps gather in shared memory.
            for (int tile = 0; tile < TILES; ++tile) {
                store_pairs<OUT_H, OUT_W>(outputs, total[tile], first + tile * 8, g, q, scale);
            }
        }
        fence_outputs();
        __syncthreads();   // all outputs of the image are in shared memory

        // Store them in the background, as one piece.
        const int maps = min(16, OUTPUT_MAPS - map);
        Cell* to = y + ((size_t)b * OUTPUT_MAPS + map) * OUT_H * OUT_W;
        store_bulk<THREADS>(to, outputs, maps * OUT_H * OUT_W);
    }
    wait_for_bulk_stores();   // shared memory must live until it has been read
}
