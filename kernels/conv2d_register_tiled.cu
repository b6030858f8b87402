// conv2d_register_tiled.cu -- convolution layer, a patch of outputs in registers, a shared tile
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[c,p,q,m], valid, not flipped (maps
//            innermost)
// Idea       A thread computes PATCH_HEIGHT x PATCH_WIDTH neighbouring outputs of MAPS maps. A cell
//            that it reads from the tile is multiplied by the weights of all these maps, and a
//            weight by all cells of the patch: many multiply-adds for each load. All sizes are
//            constants of the compilation, so that offsets are part of the instructions. patch.cuh
//            has the sizes that follow from them, the loads of the tile, and the products.
// Arrays     x: float32, (B, C, H, W); y: float32, (B, M, H - K + 1, W - K + 1); both aligned to 16
//            bytes; must not alias. filter: (C, K, K, M).
// Launch     block = (THREADS, 1, 1): one for each patch, rounded up to warps; grid = (tiles,
//            ceil(M / MAPS), ceil(B / IMAGES)), with the tiles of a map
// Sizes      B <= 65,535 IMAGES; K <= 15. STAGED divides C; IMAGES > 1 only where STAGED = C.
//            THREADS >= PITCH / LOAD_WIDTH.
// Memory     shared: (IMAGES * STAGED * ROWS * PITCH + WEIGHTS_SHARED * C * K * K * MAPS) * 4
//            bytes, static. constant: C * K * K * PADDED_MAPS * 4 bytes in `filter` where
//            WEIGHTS_SHARED is 0, at most 65,536.
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K; of a thread
//            PATCH_WIDTH, PATCH_HEIGHT, MAPS; of a block PATCHES_X, PATCHES_Y, IMAGES, STAGED
//            (channels in shared memory at a time); UNROLL (filter rows in one round of the loop);
//            RESIDENT (blocks of a multiprocessor, 0: any); WEIGHTS_SHARED (1: the block copies
//            its maps' weights to shared memory, for filters that leave the cache of constants);
//            by -D (defaults: layer 1 of the network, in patch.cuh).
// Reference  helpers.reference.conv2d

#ifndef RESIDENT
#define RESIDENT 0
#endif
#ifndef WEIGHTS_SHARED
#define WEIGHTS_SHARED 0
#endif
#include "patch.cuh"

constexpr int STORE_WIDTH = access_width(OUT_W, PATCH_WIDTH);   // floats of an access to y
using Store = Floats<STORE_WIDTH>::type;

#if WEIGHTS_SHARED
__device__ float filter[TAPS * PADDED_MAPS];     // shape (C, K, K, M), spare maps 0
#else
__constant__ float filter[TAPS * PADDED_MAPS];   // shape (C, K, K, M), spare maps 0
#endif

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_register_tiled(float* y, const float* __restrict__ x, int B)
{
    __shared__ __align__(16) float tile[TILE_ROWS * PITCH];
#if WEIGHTS_SHARED
    __shared__ __align__(16) float weights[TAPS][MAPS];
#endif
    const int t = threadIdx.x;

    // The block's first column, row, image and map.
    const int left = blockIdx.x % TILES_ACROSS * TILE_W;
    const int top = TILE_H < OUT_H ? blockIdx.x / TILES_ACROSS * TILE_H : 0;
    const int first = blockIdx.z * IMAGES;
    const int map = blockIdx.y * MAPS;

    // The thread's patch: its image, row and column in the tile. Threads beyond the last patch
    // repeat it: they must not leave, because they load, and wait at the barriers.
    const int patch = min(t, PATCHES - 1);
    const int image = patch / (PATCHES_X * PATCHES_Y);
    const int row = patch / PATCHES_X % PATCHES_Y * PATCH_HEIGHT;
    const int column = patch % PATCHES_X * PATCH_WIDTH;

    // The place in the tile from which the thread loads, in each round STEP rows further down.
    const unsigned load_row = t / (PITCH / LOAD_WIDTH);
    const unsigned load_column = t % (PITCH / LOAD_WIDTH) * LOAD_WIDTH;
    const bool column_inside = left + load_column < WIDTH;
    const float* from =
        x + ((size_t)first * CHANNELS * HEIGHT + top + load_row) * WIDTH + left + load_column;
    const LoadPlace place = {from, load_row, load_column, column_inside, top, first, B};

#if WEIGHTS_SHARED
    for (int i = t; i < TAPS * MAPS; i += THREADS) {
        weights[i / MAPS][i % MAPS] = filter[i / MAPS * PADDED_MAPS + map + i % MAPS];
    }
#endif
    __align__(16) PatchSums sum[MAPS] = {};

    for (int c = 0; c < CHANNELS; c += STAGED) {
        if (c > 0) __syncthreads();   // not before all have read what is now overwritten

        // Load. A whole batch is asked for before the first of its cells is stored, so that the
        // latencies overlap.
        for (unsigned batch = 0; batch < ROUNDS * STEP && load_row < STEP; batch += BATCH * STEP) {
            Load cells[BATCH];
            load_batch(cells, place, batch, c);
            store_batch(tile, place, batch, cells);
        }
        __syncthreads();   // patches read cells, and weights, that other threads loaded

        // Compute. For one row of the filter at a time: read the cells that the patch needs from
        // the tile into registers, then multiply each by every weight that it meets.
        for (int s = 0; s < STAGED; ++s) {
            #pragma unroll FILTER_ROWS
            for (int p = 0; p < K; ++p) {
                const int tile_row = (image * STAGED + s) * ROWS + row + p;
                __align__(16) PatchCells cells;
                read_cells(cells, tile, tile_row, column);

                // Unrolled, every index of `cells` and `sum` is a constant: only then are both
                // registers.
                #pragma unroll
                for (int q = 0; q < K; ++q) {
                    #pragma unroll
                    for (int m = 0; m < MAPS; ++m) {
                        // All lanes want the same weight. Maps lie innermost: one constant load
                        // brings two weights, one load from shared memory four.
                        const int tap = ((c + s) * K + p) * K + q;
#if WEIGHTS_SHARED
                        const float weight = weights[tap][m];
#else
                        const float weight = filter[tap * PADDED_MAPS + map + m];
#endif
                        add_products(sum[m], cells, q, weight);
                    }
                }
            }
        }
    }

    // Store. Threads that repeat the last patch have nothing to store, nor have spare images.
    const size_t first_row = ((size_t)(first + image) * OUTPUT_MAPS + map) * OUT_H + top + row;
    float* to = y + first_row * OUT_W + left + column;
    for (int m = 0; m < MAPS && t < PATCHES && first + image < B; ++m) {
        for (int h = 0; h < PATCH_HEIGHT; ++h) {
            for (int w = 0; w < PATCH_WIDTH; w += STORE_WIDTH) {
                const bool map_inside = EVEN_MAPS || map + m < OUTPUT_MAPS;
                const bool row_inside = EVEN_H || top + row + h < OUT_H;
                const bool column_inside = EVEN_W || left + column + w < OUT_W;
                if (map_inside && row_inside && column_inside) {
                    *reinterpret_cast<Store*>(to + (m * OUT_H + h) * OUT_W + w) =
                        *reinterpret_cast<Store*>(&sum[m][h][w]);
                }
            }
        }
    }
}
