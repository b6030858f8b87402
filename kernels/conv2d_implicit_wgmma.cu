// conv2d_implicit_wgmma.cu -- the implicit product by the products of warpgroups
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,S h+p,S w+q] * filter[m,c,p,q], NCHW, valid, unflipped
// Idea       An octet is 8 channels of a cell as halves, 16 bytes. The octets of a row lie side by
//            side in shared memory, so that 8 neighbours are what a product of a warpgroup wants of
//            8 columns of B: 128 bytes without a gap. A tap (p, q) of the filter wants the same
//            cells p rows and q columns on: its B begins at another address, and nothing is loaded
//            for it. Rows follow each other without a gap, too. So B's columns are TILE_H whole
//            rows of staged cells, and the sums of the last cells of a row, which have no output,
//            are dropped. A's rows are 64 maps. Producers fill stages, and two consumers multiply,
//            as in gemm_wgmma.
// Arrays     x: half, (B, C, H, W), aligned to 4 bytes; y: half, (B, M, out_h, out_w), aligned to
//            8; must not alias. filter: A's pieces as halves, times a power of two; behind them 1
//            over this power.
// Launch     block = (128 * (2 + PRODUCERS), 1, 1); grid = (blocks, 1, 1): block i takes tiles i, i
//            + gridDim.x, ...
// Sizes      any B, M, K, H; W and out_w even; made for C >= 16. Stages must fit shared memory.
// Memory     shared, dynamic: STAGES * STAGE * 16 bytes; shared, static: 16 * STAGES bytes
// Constants  of the layer: CHANNELS, OUTPUT_MAPS, HEIGHT, WIDTH, FILTER_WIDTH, FILTER_STRIDE; of a
//            consumer: TILE_H, TILE_W (even), COLUMNS (of B: a multiple of 8, up to 256); MAP_TILES
//            (1: the consumers have the same 64 maps and tiles below each other; 2: the same tile
//            and 64 maps each), STAGES, PRODUCERS (1 or 2) by -D (defaults below). Compile for
//            sm_90a.
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
#ifndef FILTER_STRIDE
#define FILTER_STRIDE 1
#endif
#ifndef TILE_H
#define TILE_H 2
#endif
#ifndef TILE_W
#define TILE_W 56
#endif
#ifndef COLUMNS
#define COLUMNS 120
#endif
#ifndef MAP_TILES
#define MAP_TILES 1
#endif
#ifndef STAGES
#define STAGES 6
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#include <cuda_fp16.h>
#include "warpgroup.cuh"
DEFINE_START_PRODUCT_FOR(COLUMNS)

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
static_assert(WIDTH % 2 == 0 && OUT_W % 2 == 0 && TILE_W % 2 == 0, "a load takes two cells");

constexpr int CONSUMERS = 2;
constexpr int THREADS = (CONSUMERS + PRODUCERS) * GROUP;
constexpr int BLOCK_H = TILE_H * CONSUMERS / MAP_TILES;   // rows of a block's outputs
constexpr int BLOCK_MAPS = 64 * MAP_TILES;
constexpr int TILES_DOWN = ceil_div(OUT_H, BLOCK_H);
constexpr int TILES_ACROSS = ceil_div(OUT_W, TILE_W);
constexpr int MAP_GROUPS = ceil_div(OUTPUT_MAPS, BLOCK_MAPS);
constexpr int CHUNKS = ceil_div(CHANNELS, 16);            // a product sums up two octets

// The staged cells of a chunk, each an octet: [octet][row % S][column % S][row / S][column / S].
// With a stride of S, the windows of neighbours begin S columns apart: these are side by side.
constexpr int CELL_ROWS = (BLOCK_H - 1) * S + K;
constexpr int PAIRS = ((TILE_W - 1) * S + K + 1) / 2;     // of columns
// Where rows of outputs are a multiple of 4, a lane stores four at once; those must lie in one row.
constexpr int AT_ONCE = OUT_W % 4 == 0 && TILE_W % 4 == 0 ? 4 : 2;
constexpr int PITCH = ceil_div(ceil_div(2 * PAIRS, S), AT_ONCE) * AT_ONCE;
constexpr int PHASE = ceil_div(CELL_ROWS, S) * PITCH;
constexpr int OCTET = S * S * PHASE;
constexpr int CELLS = 2 * OCTET;
static_assert((TILE_H - 1) * PITCH + TILE_W <= COLUMNS, "B needs a column for each output");

constexpr int TAP = MAP_TILES * 128;                      // vectors of 16 bytes: weights of a tap
constexpr int WEIGHTS = K * K * TAP;                      // and of a chunk
constexpr int STAGE = CELLS + WEIGHTS;

// Weights: [group of maps][chunk][tap][64 maps][octet][map][8 channels]; last: 1 / scale
__device__ __align__(128) uint4 filter[MAP_GROUPS * CHUNKS * WEIGHTS + 1];

// Where a cell of the tile lies among the octets; also how far on the window of a tap begins.
__host__ __device__ constexpr int place_of_cell(int row, int column)
{
    return (row % S * S + column % S) * PHASE + row / S * PITCH + column / S;
}

// Where a block works. Tiles are numbered by groups of maps, which read the same cells, then along
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
    tile.top = i / (MAP_GROUPS * TILES_ACROSS) % TILES_DOWN * BLOCK_H;
    tile.image = i / (MAP_GROUPS * TILES_ACROSS * TILES_DOWN);
    return tile;
}

// Two neighbouring halves in one register, the first in the lower 16 bits.
typedef unsigned Pair;

__device__ __forceinline__ Pair to_pair(float first, float second)
{
    const half2 pair = __floats2half2_rn(first, second);
    return *reinterpret_cast<const Pair*>(&pair);
}

// ------------------------------------------------------------------------------------------------
// A producer. In each of its rounds a thread stages an item: two octets of neighbouring columns.

constexpr int ITEMS = 2 * CELL_ROWS * PAIRS;
constexpr int ROUNDS = ceil_div(ITEMS, GROUP);
constexpr int BATCH = ceil_div(ROUNDS, ceil_div(ROUNDS, 8));   // rounds whose loads are under way

struct Item {
    int octet;
    int row;
    int column;   // the first of two
};

__device__ __forceinline__ Item item_of(int i)
{
    Item item;
    item.column = i % PAIRS * 2;
    item.row = i / PAIRS % CELL_ROWS;
    item.octet = i / (PAIRS * CELL_ROWS);
    return item;
}

// Loads 8 channels of two cells. from: the tile's first cell in the chunk. What lies beyond the
// edges of x, or beyond its channels, becomes 0.
__device__ __forceinline__ void load_item(
    Pair (&raw)[8], const half* from, int i, const Tile& tile, int chunk)
{
    const Item item = item_of(i);
    const bool row_inside = OUT_H % BLOCK_H == 0 || tile.top * S + item.row < HEIGHT;
    const bool column_inside = OUT_W % TILE_W == 0 || tile.left * S + item.column < WIDTH;
    const bool inside = i < ITEMS && row_inside && column_inside;
    from += (item.octet * 8 * HEIGHT + item.row) * WIDTH + item.column;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
        const int channel = chunk * 16 + item.octet * 8 + c;
        const bool channel_inside = CHANNELS % 16 == 0 || channel < CHANNELS;
        raw[c] = inside && channel_inside
            ? *reinterpret_cast<const Pair*>(from + c * HEIGHT * WIDTH) : 0;
    }
}

// Stores them as two octets.
__device__ __forceinline__ void store_item(uint4* cells, const Pair (&raw)[8], int i)
{
    const Item item = item_of(i);
    Pair first[4];
    Pair second[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        first[k] = __byte_perm(raw[2 * k], raw[2 * k + 1], 0x5410);    // both lower halves
        second[k] = __byte_perm(raw[2 * k], raw[2 * k + 1], 0x7632);   // both upper halves
    }
    if (i < ITEMS) {
        uint4* to = cells + item.octet * OCTET;
        to[place_of_cell(item.row, item.column)] =
            make_uint4(first[0], first[1], first[2], first[3]);
        to[place_of_cell(item.row, item.column + 1)] =
            make_uint4(second[0], second[1], second[2], second[3]);
    }
}

// Fills every PRODUCERS-th stage from the stage `me` on.
__device__ __forceinline__ void produce(
    const half* x, int tiles, uint4* stages, Barrier* filled, Barrier* read, int me)
{
    const int t = threadIdx.x % GROUP;
    int turn = 0;
    Place<STAGES> place;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        const Tile tile = tile_of(i);
        const half* first = x + (size_t)tile.image * CHANNELS * HEIGHT * WIDTH
            + tile.top * S * WIDTH + tile.left * S;
        for (int chunk = 0; chunk < CHUNKS; ++chunk, ++turn, place.advance()) {
            if (turn % PRODUCERS != me) continue;
            uint4* cells = stages + place.slot * STAGE;
            #pragma unroll
            for (int round = 0; round < ROUNDS; round += BATCH) {
                // The loads are under way while the producer waits for the stage.
                Pair raw[BATCH][8];
                #pragma unroll
                for (int r = 0; r < BATCH; ++r) {
                    load_item(raw[r], first + chunk * 16 * HEIGHT * WIDTH,
                              t + (round + r) * GROUP, tile, chunk);
                }
                if (round == 0) {
                    wait_for(read + place.slot, place.parity ^ 1);   // at first nobody reads
                    if (t == 0) {
                        const uint4* weights = filter + (tile.maps * CHUNKS + chunk) * WEIGHTS;
                        load_bulk(cells + CELLS, weights, WEIGHTS * 16, filled + place.slot);
                    }
                }
                #pragma unroll
                for (int r = 0; r < BATCH; ++r) {
                    store_item(cells, raw[r], t + (round + r) * GROUP);
                }
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // for the tensor cores
            arrive(filled + place.slot);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// A consumer: a warpgroup that multiplies, and stores

// Stores the outputs that a lane has of one map: of 8 columns of B the two that follow 2 * (lane %
// 4), a pair. to: the consumer's first output of this map; high, wide: how many rows and columns
// from there on lie in y.
__device__ __forceinline__ void store_map(
    half* to, const float (&sum)[128], int second, float scale, int high, int wide)
{
    const int lane = threadIdx.x % 32;
    const int odd = lane % 2;
    #pragma unroll
    for (int n = 0; n < COLUMNS; n += 4 * AT_ONCE) {
        // With AT_ONCE = 4, lanes 2 i and 2 i + 1 exchange pairs: one gets all four outputs of its
        // own 8 columns, the other one those of the next 8.
        const int column = AT_ONCE == 4 ? n + odd * 8 + lane % 4 / 2 * 4 : n + lane % 4 * 2;
        const int row = column / PITCH;
        const int k = n / 2 + 2 * second;
        const Pair a = to_pair(sum[k] * scale, sum[k + 1] * scale);
        half* place = to + row * OUT_W + column % PITCH;
        const bool inside = row < min(high, TILE_H) && column % PITCH < min(wide, TILE_W);
        if constexpr (AT_ONCE == 4) {
            const int next = (k + 4) % 128;   // behind the last columns: any, it is not stored
            const Pair b = to_pair(sum[next] * scale, sum[next + 1] * scale);
            const Pair other = __shfl_xor_sync(~0u, odd ? a : b, 1);
            if (inside) {
                *reinterpret_cast<uint2*>(place) =
                    odd ? make_uint2(other, b) : make_uint2(a, other);
            }
        } else if (inside) {
            *reinterpret_cast<Pair*>(place) = a;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv2d_implicit_wgmma(half* y, const half* __restrict__ x, int B)
{
    extern __shared__ __align__(128) uint4 stages[];
    __shared__ Barrier filled[STAGES];   // a stage has its cells and weights
    __shared__ Barrier read[STAGES];     // nobody reads it any more
    const int tiles = MAP_GROUPS * TILES_ACROSS * TILES_DOWN * B;
    // The same for all lanes of a warp, and the compiler knows it.
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(filled + stage, GROUP + 1);      // a producer, and who starts the copy
            make_barrier(read + stage, CONSUMERS * 4);    // a lane of each warp
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");   // copies see them
    }
    __syncthreads();   // the barriers are there

    if (group >= CONSUMERS) {
        produce(x, tiles, stages, filled, read, group - CONSUMERS);
        return;
    }

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x % GROUP / 32;
    const int first_row = MAP_TILES == 1 ? group * TILE_H : 0;
    const int first_map = MAP_TILES == 1 ? 0 : group * 64;
    const float scale = __uint_as_float(filter[MAP_GROUPS * CHUNKS * WEIGHTS].x);
    // A and B of the first stage. A's octets are 64 maps apart.
    const unsigned address = shared_address(stages);
    const Descriptor a = descriptor(address + (CELLS + first_map * 2) * 16, 64, 8);
    const Descriptor b = descriptor(address + first_row * PITCH * 16, OCTET, 8);
    Place<STAGES> place;
    float sum[128];
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        // Multiply. The products of a chunk run while the next chunk is waited for.
        int last_slot = 0;
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            wait_for(filled + place.slot, place.parity);
            begin_products();
            #pragma unroll
            for (int tap = 0; tap < K * K; ++tap) {
                const int window = place_of_cell(tap / K, tap % K);
                start_product(sum, a + place.slot * STAGE + tap * TAP,
                              b + place.slot * STAGE + window, chunk > 0 || tap > 0);
            }
            end_products();
            wait_for_products<1>();   // those of the chunk before are made
            if (chunk > 0 && lane == 0) arrive(read + last_slot);
            last_slot = place.slot;
            place.advance();
        }
        wait_for_products<0>();
        if (lane == 0) arrive(read + last_slot);

        // Store. Lane 4 g + q of a warp has the maps g and g + 8 of its 16.
        const Tile tile = tile_of(i);
        const int map = tile.maps * BLOCK_MAPS + first_map + warp * 16 + lane / 4;
        const int top = tile.top + first_row;
        half* to = y + (((size_t)tile.image * OUTPUT_MAPS + map) * OUT_H + top) * OUT_W + tile.left;
        #pragma unroll
        for (int second = 0; second < 2; ++second) {
            const int high = map + 8 * second < OUTPUT_MAPS ? OUT_H - top : 0;
            store_map(to + 8 * second * OUT_H * OUT_W, sum, second, scale, high,
                      OUT_W - tile.left);
        }
    }
}
