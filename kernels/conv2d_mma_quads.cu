// conv2d_mma_quads.cu -- convolution layer of one channel on tensor cores, by quads of outputs
//
// Computes   y[b,m,h,w] = sum_{p,q} x[b,0,h+p,w+q] * filter[m,0,p,q], NCHW, valid, not flipped
// Idea       Four maps are too few for the 16 rows of A. So a column of B is the window of a quad
//            of 2 x 2 outputs: K + 1 rows of 8 cells, from an even row and column on, so that two
//            halves are one register. The rows of A are 4 maps, each shifted by no or one row and
//            by no or one column. With K = 7 a window is 8 x 8 cells, 4 steps of 16. Split halves
//            as in conv2d_mma_pairs. The outputs of a band of rows gather in shared memory and
//            leave in the background, map by map.
// Arrays     x: float32, or half (HALF_IO), (B, 1, H, W), |x| < 65,504; y: alike, (B, M, H - K + 1,
//            W - K + 1); both aligned to 16 bytes; must not alias. filter: fragments of A as
//            halves, times a power of two, then its inverse.
// Launch     block = (32 * WARPS, 1, 1); grid = (blocks, ceil(M / 4)): block i takes images i, i +
//            gridDim.x, ...
// Sizes      1 <= gridDim.x <= B; any M; C = 1; H and W even; K = 3, 5, 7. An image and a band of 4
//            maps must fit into shared memory; BANDS divides the pairs of rows. Halves: a band is
//            whole 16 bytes.
// Memory     shared, dynamic: STAGE * sizeof(Cells4) + (PARTS * PART + SPARE) * 4 + 4 * PITCH *
//            sizeof(Cell) bytes.
// Constants  CHANNELS = 1, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K, PARTS (1:
//            halves, 2: split halves), HALF_IO (0 or 1), BANDS of an image, WARPS, RESIDENT
//            (blocks of a multiprocessor) by -D (defaults below: layer 1 of the network).
// Reference  helpers.reference.conv2d

#ifndef CHANNELS
#define CHANNELS 1
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 4
#endif
#ifndef HEIGHT
#define HEIGHT 86
#endif
#ifndef WIDTH
#define WIDTH 86
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
#ifndef BANDS
#define BANDS 2
#endif
#ifndef WARPS
#define WARPS 8
#endif
#ifndef RESIDENT
#define RESIDENT 2
#endif
#include "windows.cuh"
static_assert(CHANNELS == 1, "conv2d_mma_quads supports one channel; use conv2d_mma_pairs");

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int THREADS = 32 * WARPS;

// An image in shared memory.
constexpr int ROW = WIDTH / 2;                 // Pairs in a row
constexpr int PLANE = HEIGHT * ROW;            // Pairs in the image
constexpr int PART = (PLANE + 31) / 32 * 32;   // the same in whole 128 bytes
constexpr int SPARE = 32;                      // Pairs read beyond the end of the last row
constexpr int IMAGE_VECTORS = PLANE / 2;       // four cells each
// Halves are used where they arrive: then the stage has the size of the cells.
constexpr int STAGE = HALF_IO ? (PART + SPARE) / 2 : (IMAGE_VECTORS + 7) / 8 * 8;

// Fragments.
constexpr int STEPS = (K + 1) / 2;            // two rows of a window each
constexpr int WEIGHTS = STEPS * PARTS * 32;   // vectors: a fragment has one for each lane
constexpr int MAP_GROUPS = (OUTPUT_MAPS + 3) / 4;

// The largest divisor of n that is not larger than `most`.
constexpr int divisor(int n, int most)
{
    return n % most ? divisor(n, most - 1) : most;
}

// A band of rows, and the tasks of a warp in it: 8 quads side by side, QUADS below each other.
constexpr int BAND_H = OUT_H / BANDS;
constexpr int BAND = BAND_H * OUT_W;   // outputs of a band, of one map
constexpr int QUADS = divisor(BAND_H / 2, 5);
constexpr int TASKS_ACROSS = (OUT_W + 15) / 16;
constexpr int TASKS = BAND_H / 2 / QUADS * TASKS_ACROSS;
// The maps of a band begin 64 bytes behind whole 128: stores of two neighbouring maps meet
// different banks.
constexpr int PITCH = ((BAND * sizeof(Cell) + 191) / 128 * 128 - 64) / sizeof(Cell);

// [group of maps][two rows of the window][part][lane]; last: 1 / scale
__device__ uint4 filter[MAP_GROUPS * WEIGHTS + 1];

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_mma_quads(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Cells4* stage = reinterpret_cast<Cells4*>(memory);   // the next image, as it is in x
    Pair* cells = reinterpret_cast<Pair*>(stage + STAGE);   // this one: [part][row][Pair]
    Cell* outputs = reinterpret_cast<Cell*>(cells + PARTS * PART + SPARE);   // [map][row][column]
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int g = lane / 4;
    const int q = lane % 4;
    const int map = blockIdx.y * 4;   // the block's first map

    // Load what serves all images: the weights and their scale, zeros for the spare Pairs.
    const uint4* fragments = filter + blockIdx.y * WEIGHTS + lane;
    uint4 weights[STEPS][PARTS];
    for (int step = 0; step < STEPS; ++step) {
        for (int part = 0; part < PARTS; ++part) {
            weights[step][part] = fragments[(step * PARTS + part) * 32];
        }
    }
    const float scale = __uint_as_float(filter[MAP_GROUPS * WEIGHTS].x);
    for (int i = t; i < PARTS * PART + SPARE; i += THREADS) {
        cells[i] = 0;
    }
    if (HALF_IO) {
        for (int i = PLANE + t; i < PART + SPARE; i += THREADS) {
            reinterpret_cast<Pair*>(stage)[i] = 0;
        }
    }

    const Cells4* images = reinterpret_cast<const Cells4*>(x);
    copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)blockIdx.x * IMAGE_VECTORS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        // Load: take the image that has arrived, and ask for the next one.
        wait_for_copies();
        wait_for_bulk_stores();
        // The image is complete, nobody reads the previous one's cells, and its last band has left.
        __syncthreads();
        take_stage<PART, IMAGE_VECTORS, THREADS>(cells, stage);
        const unsigned next = b + gridDim.x;
        if (next < B) {
            copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)next * IMAGE_VECTORS);
        }

        for (int band = 0; band < BANDS; ++band) {
            if (band > 0) {
                wait_for_bulk_stores();
                __syncthreads();   // the band before has left
            }
            for (int task = t / 32; task < TASKS; task += WARPS) {
                // Compute. The quads of a lane's column of B begin in this row of the band and this
                // column of y.
                const int row = task / TASKS_ACROSS * QUADS * 2;
                const int left = task % TASKS_ACROSS * 16;
                const Pair* window = cells + (band * BAND_H + row) * ROW + left / 2 + g + q;
                Accumulator sum[QUADS] = {};
                multiply_quads<STEPS, ROW, PART>(sum, weights, window);

                // Epilogue: the outputs of all warps gather in shared memory. Rows g and g + 8 of A
                // are the same map and row, without and with a shift by a column: a lane's four
                // sums are neighbours in y.
                #pragma unroll
                for (int quad = 0; quad < QUADS; ++quad) {
                    const float2 first = make_float2(sum[quad][0] * scale, sum[quad][2] * scale);
                    const float2 second = make_float2(sum[quad][1] * scale, sum[quad][3] * scale);
                    const int column = left + 4 * q;
                    Cell* to = outputs + g / 2 * PITCH + (row + 2 * quad + g % 2) * OUT_W + column;
                    if (OUT_W % 4 == 0) {
                        if (OUT_W % 16 == 0 || column < OUT_W) {
                            store_outputs(to, make_float4(first.x, first.y, second.x, second.y));
                        }
                    } else {
                        // Rows are whole pairs, but not whole vectors of four.
                        if (column < OUT_W) {
                            store_outputs(to, first);
                        }
                        if (column + 2 < OUT_W) {
                            store_outputs(to + 2, second);
                        }
                    }
                }
            }
            fence_outputs();
            __syncthreads();   // all outputs of the band are in shared memory

            // Store them in the background, a piece for each map.
            const int maps = min(4, OUTPUT_MAPS - map);
            for (int m = 0; m < maps; ++m) {
                Cell* to = y + (((size_t)b * OUTPUT_MAPS + map + m) * BANDS + band) * BAND;
                store_bulk<THREADS>(to, outputs + m * PITCH, BAND);
            }
        }
    }
    wait_for_bulk_stores();   // shared memory must live until it has been read
}
