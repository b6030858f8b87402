// conv2d_implicit_wgmma.cu -- the implicit product by the products of warpgroups
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,S h+p,S w+q] * filter[m,c,p,q], NCHW, valid, unflipped
// TODO

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
#define TILE_H 4
#endif
#ifndef TILE_W
#define TILE_W 56
#endif
#ifndef COLUMNS
#define COLUMNS 232
#endif
#ifndef MAP_TILES
#define MAP_TILES 1
#endif
#ifndef STAGES
#define STAGES 5
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef QUADS
#define QUADS 1
#endif
#include <cuda_fp16.h>
#include "warpgroup.cuh"

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

constexpr int K = FILTER_WIDTH;
constexpr int S = FILTER_STRIDE;
constexpr int OUT_H = (HEIGHT - K) / S + 1;
constexpr int OUT_W = (WIDTH - K) / S + 1;
static_assert(WIDTH % 2 == 0 && OUT_W % 2 == 0 && TILE_W % 2 == 0, "rows are read in pairs");

constexpr int CONSUMERS = 2;
constexpr int THREADS = (CONSUMERS + PRODUCERS) * GROUP;
constexpr bool WIDE = QUADS && OUT_W % 4 == 0 && TILE_W % 4 == 0;   // a lane stores 4 outputs at once
constexpr int BLOCK_H = TILE_H * CONSUMERS / MAP_TILES;   // rows of a block's outputs
constexpr int BLOCK_MAPS = 64 * MAP_TILES;
constexpr int TILES_DOWN = ceil_div(OUT_H, BLOCK_H);
constexpr int TILES_ACROSS = ceil_div(OUT_W, TILE_W);
constexpr int MAP_GROUPS = ceil_div(OUTPUT_MAPS, BLOCK_MAPS);
constexpr int CHUNKS = ceil_div(CHANNELS, 16);

// The staged cells of a chunk.
constexpr int CELL_ROWS = (BLOCK_H - 1) * S + K;
constexpr int PAIRS = ((TILE_W - 1) * S + K + 1) / 2;       // of columns
constexpr int PITCH = WIDE ? ceil_div(ceil_div(2 * PAIRS, S), 4) * 4 : ceil_div(ceil_div(2 * PAIRS, S), 2) * 2;
constexpr int PHASE = ceil_div(CELL_ROWS, S) * PITCH;
constexpr int PLANE = S * S * PHASE;
constexpr int CELLS = 2 * PLANE;
constexpr int TAP = MAP_TILES * 128;                        // vectors of the weights of a tap
constexpr int WEIGHTS = K * K * TAP;
constexpr int STAGE = CELLS + WEIGHTS;                      // vectors of 16 bytes
static_assert((TILE_H - 1) * PITCH + TILE_W <= COLUMNS && COLUMNS <= 256, "columns of B");
DEFINE_START_PRODUCT_FOR(COLUMNS)

typedef unsigned Pair;

__device__ __forceinline__ Pair to_pair(float first, float second)
{
    const half2 pair = __floats2half2_rn(first, second);
    return *reinterpret_cast<const Pair*>(&pair);
}

// [group][chunk][tap][map tile][octet][map][8 channels]; last: 1 / scale.
__device__ __align__(128) uint4 filter[MAP_GROUPS * CHUNKS * WEIGHTS + 1];

struct Tile {
    int group;
    int left;
    int top;
    int image;
};

__device__ __forceinline__ Tile tile_of(int i)
{
    Tile tile;
    tile.group = i % MAP_GROUPS;
    tile.left = i / MAP_GROUPS % TILES_ACROSS * TILE_W;
    tile.top = i / (MAP_GROUPS * TILES_ACROSS) % TILES_DOWN * BLOCK_H;
    tile.image = i / (MAP_GROUPS * TILES_ACROSS * TILES_DOWN);
    return tile;
}

constexpr int ITEMS = 2 * CELL_ROWS * PAIRS;
constexpr int ROUNDS = ceil_div(ITEMS, GROUP);
constexpr int MOST_AT_ONCE = 8;
constexpr int AT_ONCE = ceil_div(ROUNDS, ceil_div(ROUNDS, MOST_AT_ONCE));

__device__ __forceinline__ void load_octets(
    Pair (&raw)[8], const half* from, int i, const Tile& tile, int chunk)
{
    const int pair = i % PAIRS;
    const int row = i / PAIRS % CELL_ROWS;
    const int octet = i / (PAIRS * CELL_ROWS);
    const int h = tile.top * S + row;
    const int w = tile.left * S + 2 * pair;
    const bool row_inside = OUT_H % BLOCK_H == 0 || h < HEIGHT;
    const bool inside = (ITEMS % GROUP == 0 || i < ITEMS) && row_inside && w < WIDTH;
    from += (octet * 8 * HEIGHT + row) * WIDTH + 2 * pair;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
        const bool channel_inside = CHANNELS % 16 == 0 || chunk * 16 + octet * 8 + c < CHANNELS;
        raw[c] = inside && channel_inside
            ? __ldg(reinterpret_cast<const Pair*>(from + c * HEIGHT * WIDTH)) : 0;
    }
}

__device__ __forceinline__ int staged(int row, int column)
{
    return (row % S * S + column % S) * PHASE + row / S * PITCH + column / S;
}

__device__ __forceinline__ void store_octets(uint4* cells, const Pair (&raw)[8], int i)
{
    const int pair = i % PAIRS;
    const int row = i / PAIRS % CELL_ROWS;
    const int octet = i / (PAIRS * CELL_ROWS);
    Pair first[4];
    Pair second[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        first[k] = __byte_perm(raw[2 * k], raw[2 * k + 1], 0x5410);
        second[k] = __byte_perm(raw[2 * k], raw[2 * k + 1], 0x7632);
    }
    if (ITEMS % GROUP == 0 || i < ITEMS) {
        uint4* to = cells + octet * PLANE;
        to[staged(row, 2 * pair)] = make_uint4(first[0], first[1], first[2], first[3]);
        to[staged(row, 2 * pair + 1)] = make_uint4(second[0], second[1], second[2], second[3]);
    }
}

__device__ __forceinline__ void produce(
    const half* x, int tiles, uint4* stages, Barrier* filled, Barrier* read, int me)
{
    const int t = threadIdx.x % GROUP;
    int turn = 0;
    Place<STAGES> place;
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        const Tile tile = tile_of(i);
        const half* first = x
            + ((size_t)tile.image * CHANNELS * HEIGHT + tile.top * S) * WIDTH + tile.left * S;
        for (int chunk = 0; chunk < CHUNKS; ++chunk, ++turn) {
            if (turn % PRODUCERS != me) {
                place.advance();
                continue;
            }
            uint4* cells = stages + place.slot * STAGE;
            const half* from = first + chunk * 16 * HEIGHT * WIDTH;
            #pragma unroll
            for (int round = 0; round < ROUNDS; round += AT_ONCE) {
                Pair raw[AT_ONCE][8];
                #pragma unroll
                for (int r = 0; r < AT_ONCE; ++r) {
                    load_octets(raw[r], from, t + (round + r) * GROUP, tile, chunk);
                }
                if (round == 0) {
                    wait_for(read + place.slot, place.parity ^ 1);   // at first nobody reads
                    if (t == 0) {
                        const uint4* weights =
                            filter + (tile.group * CHUNKS + chunk) * WEIGHTS;
                        load_bulk(cells + CELLS, weights, WEIGHTS * 16, filled + place.slot);
                    }
                }
                #pragma unroll
                for (int r = 0; r < AT_ONCE; ++r) {
                    store_octets(cells, raw[r], t + (round + r) * GROUP);
                }
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // for tensor cores
            arrive(filled + place.slot);
            place.advance();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv2d_implicit_wgmma(half* y, const half* __restrict__ x, int B)
{
    extern __shared__ __align__(128) uint4 stages[];
    __shared__ Barrier filled[STAGES];
    __shared__ Barrier read[STAGES];
    const int tiles = MAP_GROUPS * TILES_ACROSS * TILES_DOWN * B;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(filled + stage, GROUP + 1);
            make_barrier(read + stage, CONSUMERS * 4);   // a lane of each warp
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (group >= CONSUMERS) {
        produce(x, tiles, stages, filled, read, group - CONSUMERS);
        return;
    }

    const float scale = __uint_as_float(filter[MAP_GROUPS * CHUNKS * WEIGHTS].x);
    const int t = threadIdx.x % GROUP;
    const int lane = t % 32;
    const int first_row = MAP_TILES == 1 ? group * TILE_H : 0;
    const int first_map = MAP_TILES == 1 ? 0 : group * 64;
    // Of the first stage.
    const unsigned address = shared_address(stages);
    const Descriptor first_a = descriptor(address + (CELLS + first_map * 2) * 16, 64, 8);
    const Descriptor first_b = descriptor(address + first_row * PITCH * 16, PLANE, 8);
    Place<STAGES> place;
    float sum[128];
    for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
        const Tile tile = tile_of(i);
        int last_slot = 0;
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            wait_for(filled + place.slot, place.parity);
            begin_products();
            #pragma unroll
            for (int tap = 0; tap < K * K; ++tap) {
                const int p = tap / K;
                const int q = tap % K;
                const int window = (p % S * S + q % S) * PHASE + p / S * PITCH + q / S;
                start_product(sum, first_a + place.slot * STAGE + tap * TAP,
                              first_b + place.slot * STAGE + window, chunk > 0 || tap > 0);
            }
            end_products();
            wait_for_products<1>();
            if (chunk > 0 && lane == 0) arrive(read + last_slot);
            last_slot = place.slot;
            place.advance();
        }
        wait_for_products<0>();
        if (lane == 0) arrive(read + last_slot);

        // Store.
        const int map = tile.group * BLOCK_MAPS + first_map + t / 32 * 16 + lane / 4;
        half* to = y + ((size_t)tile.image * OUTPUT_MAPS + map) * OUT_H * OUT_W;
        if (WIDE) {
            // Lanes 2 i and 2 i + 1 exchange pairs, of 8 columns and of the next 8.
            const int odd = lane % 2;
            #pragma unroll
            for (int n = 0; n < COLUMNS; n += 16) {
                const int column = n + odd * 8 + lane % 4 / 2 * 4;
                const int h = tile.top + first_row + column / PITCH;
                const int w = tile.left + column % PITCH;
                const bool inside = column / PITCH < TILE_H && column % PITCH < TILE_W
                    && h < OUT_H && w < OUT_W;
                #pragma unroll
                for (int half_ = 0; half_ < 2; ++half_) {
                    const int k = n / 2 + 2 * half_;
                    const bool two = n + 8 < COLUMNS;
                    const Pair a = to_pair(sum[k] * scale, sum[k + 1] * scale);
                    const Pair b = two
                        ? to_pair(sum[(k + 4) % 128] * scale, sum[(k + 5) % 128] * scale) : 0;
                    const Pair other = __shfl_xor_sync(~0u, odd ? a : b, 1);
                    const uint2 four = odd ? make_uint2(other, b) : make_uint2(a, other);
                    if (inside && map + 8 * half_ < OUTPUT_MAPS) {
                        *reinterpret_cast<uint2*>(
                            to + (8 * half_ * OUT_H + h) * OUT_W + w) = four;
                    }
                }
            }
            continue;
        }
        #pragma unroll
        for (int n = 0; n < COLUMNS; n += 8) {
            const int column = n + lane % 4 * 2;
            const int h = tile.top + first_row + column / PITCH;
            const int w = tile.left + column % PITCH;
            const bool inside = column / PITCH < TILE_H && column % PITCH < TILE_W
                && h < OUT_H && w < OUT_W;
            half* place = to + h * OUT_W + w;
            if (inside && map < OUTPUT_MAPS) {
                *reinterpret_cast<half2*>(place) =
                    __floats2half2_rn(sum[n / 2] * scale, sum[n / 2 + 1] * scale);
            }
            if (inside && map + 8 < OUTPUT_MAPS) {
                *reinterpret_cast<half2*>(place + 8 * OUT_H * OUT_W) =
                    __floats2half2_rn(sum[n / 2 + 2] * scale, sum[n / 2 + 3] * scale);
            }
        }
    }
}
