// conv2d_channels_last_halo.cu -- the implicit product on cells that are loaded once for all taps
//
// Computes   y[b,h,w,m] = sum_{c,p,q} x[b,h+p,w+q,c] * filter[m,c,p,q], valid, unflipped
// Idea       conv2d_channels_last loads the cells of a tile for each tap of the filter, and the
//            weights for each tile. With few maps, that is many bytes for few products. Here a box
//            of x comes with its halo, once for all taps. A product reads A's rows by eights. In an
//            eight they follow each other; the descriptor says how far apart the eights lie. So
//            eight outputs side by side are an eight, and the next one lies a row of the box
//            further on. Another tap begins at another row. Swizzling goes by the address, so it is
//            the same for every tap. A product of 64 rows is a patch of 8 x 8 outputs. All
//            weights stay in shared memory. The rest is conv2d_channels_last.
// Arrays     x: half, (B, H, W, C); y: half, (B, out_h, out_w, M); aligned to 16 bytes; must not
//            alias. y_map, x_map: tensor maps of y and x. filter: B's tiles as halves, times a
//            power of two; behind them 1 over this power.
// Launch     block = (288, 1, 1); grid = (blocks, 1, 1): block i takes tiles i, i + gridDim.x, ...
// Sizes      any B, K, H, W; C and M multiples of 8, C up to 64, M up to MAPS. All weights must fit
//            shared memory, beside the stages.
// Memory     shared, dynamic: 34,816 + 128 * FILTER_WIDTH * FILTER_WIDTH * MAPS
//            + 2 * STAGES * STAGE bytes
// Constants  of the layer: CHANNELS, OUTPUT_MAPS, HEIGHT, WIDTH, FILTER_WIDTH; of a tile: PATCHES
//            (one below the other), IMAGES (PATCHES * IMAGES <= 4, <= 2 with MAPS = 128), MAPS (64
//            or 128); STAGES (even: else a stage changes hands between the consumers, and a parity
//            may mislead) by -D (defaults below). STAGE counts halves. Compile for sm_90a.
// Reference  helpers.reference.conv2d of the rounded arrays

#ifndef CHANNELS
#define CHANNELS 64
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 64
#endif
#ifndef HEIGHT
#define HEIGHT 58
#endif
#ifndef WIDTH
#define WIDTH 58
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#ifndef PATCHES
#define PATCHES 1
#endif
#ifndef IMAGES
#define IMAGES 2
#endif
#ifndef MAPS
#define MAPS 64
#endif
#ifndef STAGES
#define STAGES 4
#endif
#include "tensor_map.cuh"

// ------------------------------------------------------------------------------------------------
// Sizes

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

constexpr int K = FILTER_WIDTH;
constexpr int SIDE = 8;                             // of a patch of outputs
constexpr int TILE_H = SIDE * PATCHES;
constexpr int TILE_W = SIDE;
constexpr int TILES_ACROSS = ceil_div(WIDTH - K + 1, TILE_W);
constexpr int TILES_DOWN = ceil_div(HEIGHT - K + 1, TILE_H);

constexpr int DEPTH = 64;                           // channels: 128 bytes, a row of A
constexpr int CONSUMERS = 2;                        // warpgroups; the producer is the warp behind
constexpr int PARTS = PATCHES * IMAGES;             // of a tile, 64 rows of A each
constexpr int PIECE = 8;                            // halves of 16 bytes
constexpr int ROW = 64;                             // halves of a row in shared memory: 8 pieces
constexpr int PITCH = TILE_W + K - 1;               // rows of A from a row of the box to the next
constexpr int BOX_IMAGE = (TILE_H + K - 1) * PITCH; // and from an image to the next
constexpr int BOX = IMAGES * BOX_IMAGE * ROW;       // halves
constexpr int STAGE = ceil_div(BOX, 512) * 512;     // tiles begin at multiples of 1,024 bytes
constexpr int TILE_B = DEPTH * MAPS;
constexpr int WEIGHTS = K * K * TILE_B;
constexpr int WARP_TILE = 2 * SIDE * ROW;           // halves of two rows of a patch and 64 maps
static_assert(CHANNELS <= DEPTH && OUTPUT_MAPS <= MAPS, "all channels and maps at once");
static_assert(STAGES >= CONSUMERS, "a consumer waits for the stage after the other's");

// B's tiles: [tap][64 maps][channel][map], swizzled; last: 1 / scale
__device__ __align__(128) uint4 filter[WEIGHTS / 8 + 1];

// Where a tile begins. Tiles are numbered along rows, along columns and over images.
struct Tile {
    int left;    // first output column
    int top;     // and row
    int image;
};

__device__ __forceinline__ Tile tile_of(int i)
{
    Tile tile;
    tile.left = i % TILES_ACROSS * TILE_W;
    tile.top = i / TILES_ACROSS % TILES_DOWN * TILE_H;
    tile.image = i / (TILES_ACROSS * TILES_DOWN) * IMAGES;
    return tile;
}

// ------------------------------------------------------------------------------------------------
// The producer: one thread

__device__ __forceinline__ void produce(const TensorMap* x_map, int tiles, half* weights,
                                        half* stages, Barrier* weighted, Barrier* full,
                                        Barrier* empty)
{
    load_bulk(weights, filter, WEIGHTS * sizeof(half), weighted);
    Place<STAGES> place;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        // The first wait for a stage returns at once: the phase before counts as over. Cells beyond
        // x, and channels, come as zeros, which the barrier counts like other bytes.
        const Tile tile = tile_of(i);
        wait_for(empty + place.slot, place.parity ^ 1);
        arrive_and_expect(full + place.slot, BOX * sizeof(half));
        load_box(stages + place.slot * STAGE, x_map, tile.image, tile.top, tile.left, 0,
                 full + place.slot);
        place.advance();
    }
}

// ------------------------------------------------------------------------------------------------
// The consumers

// Starts all products of a tile. cells: address of the box; weights: B's first tile.
__device__ __forceinline__ void start_products(
    float (&sum)[PARTS][MAPS / 2], unsigned cells, Descriptor weights)
{
    #pragma unroll
    for (int tap = 0; tap < K * K; ++tap) {
        #pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            #pragma unroll
            for (int part = 0; part < PARTS; ++part) {
                const int row = part % PATCHES * SIDE + tap / K;   // of the box
                const int first = part / PATCHES * BOX_IMAGE + row * PITCH + tap % K;
                const unsigned start = cells + (first * ROW + k) * sizeof(half);
                const Descriptor a = descriptor(start, 0, PITCH * ROW / PIECE) | 1ull << 62;
                start_product(sum[part], a, weights + (tap * TILE_B + k * ROW) / PIECE,
                              tap > 0 || k > 0);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(CONSUMERS * GROUP + 32, 1) conv2d_channels_last_halo(
    const TensorMap* y_map, const TensorMap* x_map, int B)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* full = reinterpret_cast<Barrier*>(memory);
    Barrier* empty = full + STAGES;
    Barrier* weighted = empty + STAGES;   // the weights are there
    // Swizzling goes by the address: tiles begin at a multiple of 1,024 bytes.
    const unsigned gap = -shared_address(memory) % 1024;
    half* weights = reinterpret_cast<half*>(memory + gap + 1024);
    half* stages = weights + WEIGHTS;
    const int tiles = TILES_ACROSS * TILES_DOWN * ceil_div(B, IMAGES);
    // The same for all lanes of a warp, and the compiler knows it.
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    const int lane = threadIdx.x % 32;

    if (threadIdx.x == CONSUMERS * GROUP) {   // the producer's first lane
        read_map(x_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);    // who starts the copy, and its bytes
            make_barrier(empty + stage, 1);   // a thread of the consumer that has read it
        }
        make_barrier(weighted, 1);
        publish_barriers();
    }
    __syncthreads();   // the barriers are there

    if (warp == CONSUMERS * 4) {
        if (lane == 0) produce(x_map, tiles, weights, stages, weighted, full, empty);
        return;
    }

    const int group = warp / 4;
    const bool tells = threadIdx.x % GROUP == 0;
    const float scale = __uint_as_float(filter[WEIGHTS / 8].x);
    half* outputs = stages + STAGES * STAGE + warp * 2 * WARP_TILE;
    int stored = 0;   // boxes of outputs so far
    if (lane == 0) read_map(y_map);
    wait_for(weighted, 0);
    const Descriptor b = tile_descriptor<DEPTH>(weights);
    float sum[PARTS][MAPS / 2];
    int turn = group;   // tiles of both consumers so far: it says the stage, and its parity
    for (int i = blockIdx.x + turn * gridDim.x; i < tiles; i += CONSUMERS * gridDim.x) {
        // Multiply. The consumers take tiles in turns: while one waits or stores, the tensor cores
        // work for the other.
        const int slot = turn % STAGES;
        wait_for(full + slot, turn / STAGES % 2);
        begin_products();
        start_products(sum, shared_address(stages + slot * STAGE), b);
        end_products();
        wait_for_products<0>();
        if (tells) arrive(empty + slot);
        turn += CONSUMERS;

        // Store. A warp's 16 outputs are a box of y. A place is free again when all but the last
        // box that was stored are read.
        const Tile tile = tile_of(i);
        #pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const int row = tile.top + part % PATCHES * SIDE + warp % 4 * 2;
            const int image = tile.image + part / PATCHES;
            #pragma unroll
            for (int map = 0; map < MAPS; map += ROW) {
                half* box = outputs + stored++ % 2 * WARP_TILE;
                if (lane == 0) wait_until_read<1>();
                __syncwarp();
                write_outputs(box, sum[part] + map / 2, scale, lane);
                publish_tile();
                __syncwarp();
                if (lane == 0) store_box(y_map, image, row, tile.left, map, box);
            }
        }
    }
    if (lane == 0) wait_until_read<0>();   // shared memory goes with the block
}
