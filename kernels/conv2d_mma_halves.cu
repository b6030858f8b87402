// conv2d_mma_halves.cu -- convolution layer in halves on tensor cores, weights in registers
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped;
//            both rounded to half, sums in float32
// Idea       Columns of B and tiles as in conv2d_mma_pairs. In halves the weights of 16 maps fit
//            into a warp's registers: a product loads nothing but cells from shared memory.
// Arrays     x: float32, or half (HALF_IO), (B, C, H, W), |x| < 65,504; y: alike, (B, M, H - K + 1,
//            W - K + 1); both aligned to 16 bytes; must not alias. filter: fragments of A as
//            halves, times a power of two, then its inverse.
// Launch     block = (32 * WARPS, 1, 1); grid = (blocks, ceil(M / 16)): block i takes images i, i +
//            gridDim.x, ...
// Sizes      1 <= gridDim.x <= B; any M; C <= 4; H and W even; K = 3, 5, 7. An image and its
//            outputs of 16 maps must fit into shared memory. Halves: the outputs of an image are
//            whole vectors of 16 bytes.
// Memory     shared, dynamic: STAGE * sizeof(Cells4) + (PART + SPARE) * 4 + 16 * OUT_H * OUT_W *
//            sizeof(Cell) bytes.
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K, HALF_IO (0 or
//            1), WARPS, RESIDENT (blocks of a multiprocessor) by -D (defaults below: layer 2 of the
//            network). PARTS = 1.
// Reference  helpers.reference.conv2d of the rounded arrays

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
#define PARTS 1
#endif
#ifndef HALF_IO
#define HALF_IO 0
#endif
#ifndef WARPS
#define WARPS 6
#endif
#ifndef RESIDENT
#define RESIDENT 2
#endif
#include "windows.cuh"
static_assert(PARTS == 1, "conv2d_mma_halves needs PARTS = 1; use conv2d_mma_pairs");

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int THREADS = 32 * WARPS;

// An image in shared memory.
constexpr int ROW = WIDTH / 2;   // Pairs in a row
constexpr int PLANE = HEIGHT * ROW;   // Pairs in a channel
constexpr int CHANNEL_PAIRS = (CHANNELS + 1) / 2;   // an odd channel is multiplied with zeros
constexpr int PART = (CHANNEL_PAIRS * 2 * PLANE + 31) / 32 * 32;   // Pairs, in whole 128 bytes
constexpr int SPARE = 32;   // Pairs read beyond the end of the last row
constexpr int IMAGE_VECTORS = CHANNELS * PLANE / 2;   // four cells each
// Halves are used where they arrive: then the stage has the size of the cells.
constexpr int STAGE = HALF_IO ? (PART + SPARE) / 2 : (IMAGE_VECTORS + 7) / 8 * 8;

// Fragments and tiles.
constexpr int STEPS = CHANNEL_PAIRS * K;
constexpr int WEIGHTS = STEPS * 2 * 32;       // vectors: a fragment has one for each lane
constexpr int MAP_GROUPS = (OUTPUT_MAPS + 15) / 16;
constexpr int ACROSS = OUT_W / 2;             // pairs of outputs in a row
constexpr int COLUMNS = OUT_H / 2 * ACROSS;   // columns of B that an image needs

// [group of maps][two channels][two of their filter rows][shift][lane]; last: 1 / scale
__device__ uint4 filter[MAP_GROUPS * WEIGHTS + 1];

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_mma_halves(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Cells4* stage = reinterpret_cast<Cells4*>(memory);   // the next image, as it is in x
    Pair* cells = reinterpret_cast<Pair*>(stage + STAGE);   // this one: [channel][row][Pair]
    Cell* outputs = reinterpret_cast<Cell*>(cells + PART + SPARE);   // [map][row][column]
    const int t = threadIdx.x;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int g = lane / 4;
    const int q = lane % 4;
    const int map = blockIdx.y * 16;   // the block's first map

    // Load what serves all images: the weights and their scale; zeros, where an odd channel and the
    // spare Pairs lie.
    uint4 weights[CHANNEL_PAIRS][K * 2];
    for (int pair = 0; pair < CHANNEL_PAIRS; ++pair) {
        for (int i = 0; i < K * 2; ++i) {
            weights[pair][i] = filter[blockIdx.y * WEIGHTS + (pair * K * 2 + i) * 32 + lane];
        }
    }
    const float scale = __uint_as_float(filter[MAP_GROUPS * WEIGHTS].x);
    for (int i = t; i < PART + SPARE; i += THREADS) {
        cells[i] = 0;
    }
    if (HALF_IO) {
        for (int i = IMAGE_VECTORS * 2 + t; i < PART + SPARE; i += THREADS) {
            reinterpret_cast<Pair*>(stage)[i] = 0;
        }
    }

    const Cells4* images = reinterpret_cast<const Cells4*>(x);
    copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)blockIdx.x * IMAGE_VECTORS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        // Load: take the image that has arrived, and ask for the next one.
        wait_for_copies();
        wait_for_bulk_stores();
        // The image is complete, nobody reads the previous one's cells, and its outputs have left.
        __syncthreads();
        take_stage<PART, IMAGE_VECTORS, THREADS>(cells, stage);
        const unsigned next = b + gridDim.x;
        if (next < B) {
            copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)next * IMAGE_VECTORS);
        }

        for (int first = warp * 8; first < COLUMNS; first += WARPS * 8) {
            // Compute one tile. Spare columns of B repeat the last one.
            const int column = min(first + g, COLUMNS - 1);
            const Pair* windows[1] = {cells + column / ACROSS * 2 * ROW + column % ACROSS + q};
            PairSums sum[1] = {};
            #pragma unroll
            for (int pair = 0; pair < CHANNEL_PAIRS; ++pair) {
                multiply_two_channels<K, ROW, PLANE, PART, 1>(sum, weights[pair], windows);
                windows[0] += 2 * PLANE;
            }

            // Epilogue: the outputs of all warps gather in shared memory.
            store_pairs<OUT_H, OUT_W>(outputs, sum[0], first, g, q, scale);
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
