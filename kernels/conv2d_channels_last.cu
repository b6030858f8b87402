// conv2d_channels_last.cu -- the implicit product where the copy engine gathers the windows
//
// Computes   y[b,h,w,m] = sum_{c,p,q} x[b,S h+p,S w+q,c] * filter[m,c,p,q], valid, unflipped
// Idea       In x, the channels of a cell are neighbours. For a tap (p, q) of the filter and 64
//            channels, the cells of TILE_W x TILE_H outputs of IMAGES images are a box of x, S
//            apart. One instruction copies it to shared memory, with a tensor map of four
//            dimensions: A's rows, one for each output, swizzled. So no sum is dropped, unlike in
//            conv2d_implicit_wgmma. The matrix B has a column for each output map; the host has
//            swizzled the weights, and they come by a plain bulk copy. The rest is
//            gemm_overlapped without clusters: a ring of stages, blocks that stay, stores by the
//            copy engine. But here the consumers take whole tiles in turn: while one stores, the
//            tensor cores work for the other.
// Arrays     x: half, (B, H, W, C); y: half, (B, out_h, out_w, M); aligned to 16 bytes; must not
//            alias. y_map, x_map: tensor maps of y and x. filter: B's tiles as halves, times a
//            power of two; behind them 1 over this power.
// Launch     block = (288, 1, 1); grid = (blocks, 1, 1): block i takes tiles i, i + gridDim.x, ...
// Sizes      any B, K, H, W; C and M multiples of 8
// Memory     shared, dynamic: 34,816 + STAGES * 128 * (128 + MAPS) bytes
// Constants  of the layer: CHANNELS, OUTPUT_MAPS, HEIGHT, WIDTH, FILTER_WIDTH, FILTER_STRIDE; of a
//            tile: TILE_W, TILE_H, IMAGES (powers of two, 128 outputs together), MAPS (64 or 128);
//            STAGES (at least 2) by -D (defaults below). Compile for sm_90a.
// Reference  helpers.reference.conv2d of the rounded arrays

#ifndef CHANNELS
#define CHANNELS 256
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 256
#endif
#ifndef HEIGHT
#define HEIGHT 16
#endif
#ifndef WIDTH
#define WIDTH 16
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#ifndef FILTER_STRIDE
#define FILTER_STRIDE 1
#endif
#ifndef TILE_W
#define TILE_W 2
#endif
#ifndef TILE_H
#define TILE_H 2
#endif
#ifndef IMAGES
#define IMAGES 32
#endif
#ifndef MAPS
#define MAPS 128
#endif
#ifndef STAGES
#define STAGES 6
#endif
#include "tensor_map.cuh"

// ------------------------------------------------------------------------------------------------
// Sizes

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

constexpr int K = FILTER_WIDTH;
constexpr int S = FILTER_STRIDE;
constexpr int OUT_H = (HEIGHT - K) / S + 1;
constexpr int OUT_W = (WIDTH - K) / S + 1;
constexpr int TILES_ACROSS = ceil_div(OUT_W, TILE_W);
constexpr int TILES_DOWN = ceil_div(OUT_H, TILE_H);
constexpr int MAP_GROUPS = ceil_div(OUTPUT_MAPS, MAPS);

constexpr int HIGH = TILE_W * TILE_H * IMAGES;     // rows of A: outputs of a tile
constexpr int DEPTH = 64;                          // channels of a step: 128 bytes of a row of A
constexpr int CHUNKS = ceil_div(CHANNELS, DEPTH);
constexpr int STEPS = K * K * CHUNKS;
constexpr int CONSUMERS = 2;                       // warpgroups; the producer is the warp behind
constexpr int PARTS = HIGH / 64;                   // of a tile, 64 rows each
constexpr int PIECE = 8;                           // halves of 16 bytes
constexpr int ROW = 64;                            // halves of a row in shared memory: 8 pieces
constexpr int TILE_A = HIGH * DEPTH;               // halves
constexpr int TILE_B = DEPTH * MAPS;
constexpr int STAGE = TILE_A + TILE_B;             // A's tile, then B's
constexpr int WARP_ROWS = 16;                      // outputs that a warp stores at a time
constexpr int WARP_TILE = WARP_ROWS * ROW;         // halves of them and 64 maps
static_assert(HIGH == 128, "more sums do not fit the registers");

// B's tiles: [group of maps][tap][64 channels][64 maps][channel][map], swizzled; last: 1 / scale
__device__ __align__(128) uint4 filter[MAP_GROUPS * STEPS * TILE_B / 8 + 1];

// Where a tile begins. Tiles are numbered by groups of maps, which read the same cells, then along
// rows, along columns and over images.
struct Tile {
    int maps;    // the group
    int left;    // first output column
    int top;     // and row
    int image;
};

__device__ __forceinline__ Tile tile_of(int i)
{
    Tile tile;
    tile.maps = i % MAP_GROUPS;
    tile.left = i / MAP_GROUPS % TILES_ACROSS * TILE_W;
    tile.top = i / (MAP_GROUPS * TILES_ACROSS) % TILES_DOWN * TILE_H;
    tile.image = i / (MAP_GROUPS * TILES_ACROSS * TILES_DOWN) * IMAGES;
    return tile;
}

// ------------------------------------------------------------------------------------------------
// The producer: one thread

__device__ __forceinline__ void produce(
    const TensorMap* x_map, int tiles, half* stages, Barrier* full, Barrier* empty)
{
    Place<STAGES> place;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        const Tile tile = tile_of(i);
        const half* weights =
            reinterpret_cast<const half*>(filter) + (size_t)tile.maps * STEPS * TILE_B;
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                for (int chunk = 0; chunk < CHUNKS; ++chunk, weights += TILE_B) {
                    // The first wait for a stage returns at once: the phase before counts as over.
                    // Cells beyond x, and channels, come as zeros, which the barrier counts, too.
                    wait_for(empty + place.slot, place.parity ^ 1);
                    half* stage = stages + place.slot * STAGE;
                    Barrier* barrier = full + place.slot;
                    arrive_and_expect(barrier, TILE_A * sizeof(half));
                    load_box(stage, x_map, tile.image, tile.top * S + p, tile.left * S + q,
                             chunk * DEPTH, barrier);
                    load_bulk(stage + TILE_A, weights, TILE_B * sizeof(half), barrier);
                    place.advance();
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// The consumers

extern "C" __global__ void __launch_bounds__(CONSUMERS * GROUP + 32, 1) conv2d_channels_last(
    const TensorMap* y_map, const TensorMap* x_map, int B)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* full = reinterpret_cast<Barrier*>(memory);
    Barrier* empty = full + STAGES;
    Barrier* begin = empty + STAGES;   // of each consumer: it may begin with its next tile
    // Swizzling goes by the address: a tile begins at a multiple of 1,024 bytes.
    const unsigned gap = -shared_address(memory) % 1024;
    half* stages = reinterpret_cast<half*>(memory + gap + 1024);
    const int tiles = MAP_GROUPS * TILES_ACROSS * TILES_DOWN * ceil_div(B, IMAGES);
    // The same for all lanes of a warp, and the compiler knows it.
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    const int lane = threadIdx.x % 32;

    if (threadIdx.x == CONSUMERS * GROUP) {   // the producer's first lane
        read_map(x_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 2);    // the producer arrives once for each copy
            make_barrier(empty + stage, 1);   // a thread of the consumer that has read it
        }
        for (int group = 0; group < CONSUMERS; ++group) {
            make_barrier(begin + group, 1);   // a thread of the other consumer
        }
        publish_barriers();
    }
    __syncthreads();   // the barriers are there

    if (warp == CONSUMERS * 4) {
        if (lane == 0) produce(x_map, tiles, stages, full, empty);
        return;
    }

    const int group = warp / 4;
    const bool tells = threadIdx.x % GROUP == 0;
    const float scale = __uint_as_float(filter[MAP_GROUPS * STEPS * TILE_B / 8].x);
    half* outputs = stages + STAGES * STAGE + warp * 2 * WARP_TILE;
    int stored = 0;   // tiles of outputs so far
    if (lane == 0) read_map(y_map);
    float sum[PARTS][MAPS / 2];
    int turn = group * STEPS;   // steps of both consumers so far: it says the stage, and its parity
    int tile_parity = group ^ 1;   // the first consumer begins at once
    for (int i = blockIdx.x + group * gridDim.x; i < tiles; i += CONSUMERS * gridDim.x) {
        // Multiply, when the other consumer has started its last products. (It has then waited for
        // all stages before this tile's, so that no stage is two phases behind.) The products of a
        // step run while this warpgroup waits for the next step's tiles.
        wait_for(begin + group, tile_parity);
        tile_parity ^= 1;
        int before = 0;
        for (int step = 0; step < STEPS; ++step, ++turn) {
            const int slot = turn % STAGES;
            wait_for(full + slot, turn / STAGES % 2);
            const Descriptor a = tile_descriptor<DEPTH>(stages + slot * STAGE);
            const Descriptor b = tile_descriptor<DEPTH>(stages + slot * STAGE + TILE_A);
            begin_products();
            #pragma unroll
            for (int k = 0; k < DEPTH; k += 16) {
                #pragma unroll
                for (int part = 0; part < PARTS; ++part) {
                    // The first product of a tile replaces the sums of the tile before.
                    start_product(sum[part], a + (part * 64 * ROW + k) / PIECE,
                                  b + k * ROW / PIECE, step > 0 || k > 0);
                }
            }
            end_products();
            wait_for_products<1>();   // those of the step before: its stage may be filled again
            if (step > 0 && tells) arrive(empty + before);
            before = slot;
        }
        if (tells) arrive(begin + (group ^ 1));
        turn += STEPS;   // those of the other consumer
        wait_for_products<0>();
        if (tells) arrive(empty + before);

        // Store. A warp's 16 outputs are a box of y. A place is free again when all but the last
        // box that was stored are read.
        const Tile tile = tile_of(i);
        #pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const int first = part * 64 + warp % 4 * WARP_ROWS;   // row of A
            const int column = tile.left + first % TILE_W;
            const int row = tile.top + first / TILE_W % TILE_H;
            const int image = tile.image + first / (TILE_W * TILE_H);
            #pragma unroll
            for (int map = 0; map < MAPS; map += ROW) {
                half* box = outputs + stored++ % 2 * WARP_TILE;
                if (lane == 0) wait_until_read<1>();
                __syncwarp();
                write_outputs(box, sum[part] + map / 2, scale, lane);
                publish_tile();
                __syncwarp();
                if (lane == 0) store_box(y_map, image, row, column, tile.maps * MAPS + map, box);
            }
        }
    }
    if (lane == 0) wait_until_read<0>();   // shared memory goes with the block
}
