// lenet_conv_pool.cu -- convolution, ReLU and max-pool in one launch, sums in registers
//
// Computes   y = max-pool POOL of max(0, x * filter), valid, not flipped; windows that overhang the
//            lower or right edge are cut; NaN is passed on
// Idea       A thread computes a patch of sums in registers, as in conv2d_register_tiled, but it
//            stores only the largest sum of each window, in shared memory. ReLU and pool are one
//            maximum of ints that begins with 0: of floats that are not negative the larger one has
//            the larger bits, and negative floats are negative ints.
// Arrays     x: float32, (B, C, H, W), aligned to 16 bytes; y: float32, (B, M, POOLED_H, POOLED_W);
//            filter: (C, K, K, M); must not alias.
// Launch     block = (THREADS, 1, 1): one for each patch, rounded up to warps; grid = (tiles,
//            ceil(OUTPUT_MAPS / MAPS), B), with the tiles of a map
// Sizes      any B <= 65,535; K <= 15. Tiles end between windows or cover the map; a patch is whole
//            windows, or a window whole patches.
// Memory     shared: (TILE_ROWS * PITCH + MAPS * WINDOWS) * 4 bytes, static. constant: CHANNELS * K
//            * K * PADDED_MAPS * 4 bytes in `filter`, at most 65,536.
// Constants  CHANNELS, OUTPUT_MAPS, HEIGHT, WIDTH, FILTER_WIDTH = K, POOL; of a thread PATCH_WIDTH,
//            PATCH_HEIGHT, MAPS; of a block PATCHES_X, PATCHES_Y; UNROLL (filter rows in one round
//            of the loop); by -D (defaults: layer 1 of the network, in patch.cuh, which has the
//            sizes that follow, the loads of the tile, and the products, too).
// Reference  helpers.problems.lenet.network.max_pool of helpers.problems.lenet.network.relu of
//            helpers.reference.conv2d

#ifndef POOL
#define POOL 2
#endif
// A block has one image, and all of its channels at a time.
#define IMAGES 1
#define STAGED CHANNELS
#define GUARD_ALL_ROUNDS 1
#include "patch.cuh"

constexpr int POOLED_H = (OUT_H + POOL - 1) / POOL;   // of y
constexpr int POOLED_W = (OUT_W + POOL - 1) / POOL;

// The windows of a tile, and the part of a window, or all of it, that lies in one patch.
constexpr int WINDOWS_ACROSS = (TILE_W + POOL - 1) / POOL;
constexpr int WINDOWS = (TILE_H + POOL - 1) / POOL * WINDOWS_ACROSS;
constexpr int PART_H = POOL < PATCH_HEIGHT ? POOL : PATCH_HEIGHT;
constexpr int PART_W = POOL < PATCH_WIDTH ? POOL : PATCH_WIDTH;
static_assert(PATCH_HEIGHT % PART_H == 0 && PATCH_WIDTH % PART_W == 0,
              "lenet_conv_pool needs patches of whole windows, or windows of whole patches");
static_assert(POOL % PART_H == 0 && POOL % PART_W == 0,
              "lenet_conv_pool needs patches of whole windows, or windows of whole patches");

__constant__ float filter[CHANNELS * K * K * PADDED_MAPS];   // shape (C, K, K, M), spare maps 0

extern "C" __global__ void __launch_bounds__(THREADS)
lenet_conv_pool(float* y, const float* __restrict__ x)
{
    __shared__ __align__(16) float tile[TILE_ROWS * PITCH];
    __shared__ int largest[MAPS * WINDOWS];   // bits of the largest sum of each window
    const int t = threadIdx.x;

    // The block's first column, row, image and map.
    const int left = blockIdx.x % TILES_ACROSS * TILE_W;
    const int top = blockIdx.x / TILES_ACROSS * TILE_H;
    const unsigned b = blockIdx.z;
    const int map = blockIdx.y * MAPS;

    // The thread's patch in the tile. Threads beyond the last patch repeat it: they must not leave,
    // because they load, and wait at the barriers.
    const int patch = min(t, PATCHES - 1);
    const int row = patch / PATCHES_X * PATCH_HEIGHT;
    const int column = patch % PATCHES_X * PATCH_WIDTH;

    // The place in the tile from which the thread loads, in each round STEP rows further down.
    const unsigned load_row = t / (PITCH / LOAD_WIDTH);
    const unsigned load_column = t % (PITCH / LOAD_WIDTH) * LOAD_WIDTH;
    const bool column_inside = left + load_column < WIDTH;
    const float* from =
        x + ((size_t)b * CHANNELS * HEIGHT + top + load_row) * WIDTH + left + load_column;
    const LoadPlace place = {
        from, load_row, load_column, column_inside, top, int(b), int(gridDim.z)};

    // Load. A whole batch is asked for before the first of its cells is stored: latencies overlap.
    for (int i = t; i < MAPS * WINDOWS; i += THREADS) {
        largest[i] = 0;   // the ReLU
    }
    for (unsigned batch = 0; batch < ROUNDS * STEP && load_row < STEP; batch += BATCH * STEP) {
        Load cells[BATCH];
        load_batch(cells, place, batch, 0);
        store_batch(tile, place, batch, cells);
    }
    __syncthreads();   // patches read cells that others loaded, and maxima that others set to 0

    // Compute. For one row of the filter at a time: read the cells that the patch needs from the
    // tile into registers, then multiply each by every weight that it meets.
    PatchSums sum[MAPS] = {};
    for (int c = 0; c < CHANNELS; ++c) {
        #pragma unroll FILTER_ROWS
        for (int p = 0; p < K; ++p) {
            __align__(16) PatchCells cells;
            read_cells(cells, tile, c * ROWS + row + p, column);

            // Unrolled, every index of `cells` and `sum` is a constant: only then are both
            // registers.
            #pragma unroll
            for (int q = 0; q < K; ++q) {
                #pragma unroll
                for (int m = 0; m < MAPS; ++m) {
                    const int tap = (c * K + p) * K + q;
                    const float weight = filter[tap * PADDED_MAPS + map + m];
                    add_products(sum[m], cells, q, weight);
                }
            }
        }
    }

    // Pool: the windows of this patch, or the part of a window. Sums beyond the edge do not count.
    #pragma unroll
    for (int m = 0; m < MAPS; ++m) {
        #pragma unroll
        for (int h = 0; h < PATCH_HEIGHT; h += PART_H) {
            #pragma unroll
            for (int w = 0; w < PATCH_WIDTH; w += PART_W) {
                int part = 0;
                for (int i = 0; i < PART_H; ++i) {
                    for (int j = 0; j < PART_W; ++j) {
                        const bool row_inside = EVEN_H || top + row + h + i < OUT_H;
                        const bool column_inside = EVEN_W || left + column + w + j < OUT_W;
                        if (row_inside && column_inside) {
                            part = max(part, __float_as_int(sum[m][h + i][w + j]));
                        }
                    }
                }
                const int window = (row + h) / POOL * WINDOWS_ACROSS + (column + w) / POOL;
                if (t < PATCHES) {
                    atomicMax(largest + m * WINDOWS + window, part);
                }
            }
        }
    }
    __syncthreads();   // a window may have sums of several patches

    // Store.
    for (int i = t; i < MAPS * WINDOWS; i += THREADS) {
        const int m = map + i / WINDOWS;
        const int h = top / POOL + i % WINDOWS / WINDOWS_ACROSS;
        const int w = left / POOL + i % WINDOWS % WINDOWS_ACROSS;
        if ((EVEN_MAPS || m < OUTPUT_MAPS) && h < POOLED_H && w < POOLED_W) {
            const size_t window = (((size_t)b * OUTPUT_MAPS + m) * POOLED_H + h) * POOLED_W + w;
            y[window] = __int_as_float(largest[i]);
        }
    }
}
