// implicit.cuh -- what the kernels conv2d_implicit_mma* share: sizes, octets, fragments, stores
//
// A layer is a product of matrices. A row of A has the cells of one output's window, a column of B
// the weights of one map, and row times column is one output. (conv2d_wmma has them the other way
// round: there the weights are the left factor.) A is never stored as a whole: the windows of
// neighbouring outputs overlap, so a block stages the cells once, and every weight finds its cells
// there. That works because ldmatrix takes an address from each lane: the rows of a fragment of A
// need not be evenly spaced, they may lie wherever their cells are.
//
// Words, beside "fragment" (mma.cuh):
//   tile     the outputs of a block: TILE_H x TILE_W of IMAGES images, numbered row by row
//   octet    8 halves, 16 bytes, a row for ldmatrix: 8 channels of one cell. With fewer channels
//            their neighbours in the row fill the rest: 4 channels of 2 columns, 2 of 4, 1 of 8.
//   chunk    the channels in shared memory at a time, OCTETS octets of each cell
//   plane    one octet of all cells of the tile, in shared memory; a chunk has OCTETS planes
//   slice    the 8 columns of A, and rows of B, that one octet of a window fills: one for each row
//            of the filter, octet in this row, and octet of channels
//   step     two slices, the 16 terms that one instruction adds up
//   corner   the octet in which the window of an output begins
//
// Layer 2 with the defaults, for instance: a tile has 7 x 34 outputs, which are 238 of the 256 rows
// of A. With 4 channels an octet is 4 channels of 2 columns. A row of the filter has 7 weights and
// takes 4 octets; the weights of the eighth column are 0. So a window has 7 x 4 = 28 slices, and 14
// steps add up all of its products.
//
// All sizes are constants of the compilation, so that nvcc makes every division of an index a
// multiplication, or makes it itself. By -D (defaults below: layer 2 of the network):
//   of the layer    CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K,
//                   FILTER_STRIDE
//   of a block      IMAGES, TILE_H, TILE_W; OCTETS; WARPS_DOWN x WARPS_ACROSS warps
//   of a warp       ROW_TILES (16 outputs each), MAP_TILES (8 maps each)
//   of the program  PARTS, HALF_IO (see mma.cuh); RESIDENT (blocks that a multiprocessor must be
//                   able to hold at a time: it limits the registers)
#pragma once

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
#ifndef FILTER_STRIDE
#define FILTER_STRIDE 1
#endif
#ifndef HALF_IO
#define HALF_IO 0
#endif
#ifndef IMAGES
#define IMAGES 1
#endif
#ifndef TILE_H
#define TILE_H 7
#endif
#ifndef TILE_W
#define TILE_W 34
#endif
#ifndef OCTETS
#define OCTETS 1
#endif
#ifndef WARPS_DOWN
#define WARPS_DOWN 4
#endif
#ifndef WARPS_ACROSS
#define WARPS_ACROSS 1
#endif
#ifndef ROW_TILES
#define ROW_TILES 4
#endif
#ifndef MAP_TILES
#define MAP_TILES 2
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
#include "mma.cuh"
#include "copies.cuh"

// ------------------------------------------------------------------------------------------------
// Sizes

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

constexpr int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = (HEIGHT - K) / FILTER_STRIDE + 1;
constexpr int OUT_W = (WIDTH - K) / FILTER_STRIDE + 1;
constexpr int THREADS = 32 * WARPS_DOWN * WARPS_ACROSS;

// An octet has OCTET_CHANNELS channels of OCTET_COLUMNS neighbours, and a filter's row takes
// OCTETS_ACROSS of them.
constexpr int OCTET_CHANNELS = CHANNELS > 4 ? 8 : CHANNELS > 2 ? 4 : CHANNELS;
constexpr int OCTET_COLUMNS = 8 / OCTET_CHANNELS;
constexpr int OCTETS_ACROSS = ceil_div(K, OCTET_COLUMNS);
constexpr int CHUNK = OCTETS * OCTET_CHANNELS;   // channels
constexpr int CHUNKS = ceil_div(CHANNELS, CHUNK);
static_assert(OCTET_CHANNELS == 8 || OCTETS == 1, "fewer than 5 channels are one octet");

constexpr int SLICES = K * OCTETS_ACROSS * OCTETS;   // of a chunk
constexpr int STEPS = ceil_div(SLICES, 2);           // the weights of a spare slice are 0

// Unrolled, a step knows where its octets lie; in a loop it must compute that.
constexpr int UNROLLED = STEPS <= 64 ? STEPS : 4;

// The tile: its outputs, and the tiles of a map.
constexpr int OUTPUTS = IMAGES * TILE_H * TILE_W;
constexpr int ROWS = WARPS_DOWN * ROW_TILES * 16;   // of A, in a block
constexpr int TILES_DOWN = ceil_div(OUT_H, TILE_H);
constexpr int TILES_ACROSS = ceil_div(OUT_W, TILE_W);
static_assert(OUTPUTS <= ROWS, "a tile has more outputs than the block has rows of A");

// The maps of a block, and the fragments of B that its warps take in a step: one for 8 maps.
constexpr int BLOCK_FRAGMENTS = WARPS_ACROSS * MAP_TILES;
constexpr int MAP_GROUPS = ceil_div(OUTPUT_MAPS, 8 * BLOCK_FRAGMENTS);
constexpr int WEIGHTS = STEPS * PARTS * BLOCK_FRAGMENTS * 32;   // of a chunk: uint2, two Pairs

// Where rows of outputs are even, a lane stores two neighbours at once: of the 16 outputs of a
// fragment of A, row g is output 2 g, and row g + 8 output 2 g + 1 (g from 0 to 7). Else row r is
// output r.
constexpr bool PAIRED = OUT_W % 2 == 0 && TILE_W % 2 == 0;

// The staged cells. A window begins at a multiple of FILTER_STRIDE, an octet in it at a multiple of
// OCTET_COLUMNS: of the columns only every UNIT-th begins an octet.
constexpr int UNIT = gcd(FILTER_STRIDE, OCTET_COLUMNS);
constexpr int CELL_ROWS = (TILE_H - 1) * FILTER_STRIDE + K;
constexpr int CELL_COLUMNS =
    ((TILE_W - 1) * FILTER_STRIDE + (OCTETS_ACROSS - 1) * OCTET_COLUMNS) / UNIT + 1;
constexpr int PLACES = IMAGES * CELL_ROWS * CELL_COLUMNS;   // of octets, in a plane

// ldmatrix reads 8 octets at once, without a conflict if they lie in 8 different slots of 16 bytes,
// modulo 128. Those of 8 rows of A are PHASES columns apart: columns that are PHASES apart are
// neighbours in shared memory. Where a row of outputs ends among the 8, the pitch goes on with the
// next slot. Layer 2 with the defaults, for instance, has PHASES = 2: of a row's 40 columns first
// lie 0, 2, ..., 38, then 1, 3, ..., 39. A row of outputs has 17 rows of A, and the pitch is 41,
// both 1 modulo 8: so the next row of A lies in the slot that follows.
constexpr int PHASES = (PAIRED ? 2 : 1) * FILTER_STRIDE / UNIT;
constexpr int PHASE_WIDTH = ceil_div(CELL_COLUMNS, PHASES);
constexpr int RUN = PAIRED ? TILE_W / 2 : TILE_W;   // rows of A from one row of outputs

// The smallest pitch from `least` on with step * pitch = run, modulo 8; `least`, if there is none.
constexpr int pitch_for(int least, int step, int run)
{
    for (int pitch = least; pitch < least + 8 && run % 8; ++pitch) {
        if ((step * pitch - run) % 8 == 0) {
            return pitch;
        }
    }
    return least;
}

constexpr int PITCH = pitch_for(PHASES * PHASE_WIDTH, FILTER_STRIDE, RUN);
constexpr int IMAGE_PITCH = pitch_for(CELL_ROWS * PITCH, 1, TILE_H * RUN);
constexpr int PLANE = IMAGES * IMAGE_PITCH;   // one octet of all cells
constexpr int CELLS = OCTETS * PLANE;         // octets of a chunk: [octet][image][row][column]

// ------------------------------------------------------------------------------------------------
// Weights

// Fragments of B: [group of maps][chunk][step][part][8 maps][lane]; last: 1 / scale. The host has
// multiplied all weights by `scale`, a power of two that brings the largest to 2^13 or more: else
// small weights, and residuals, would lose their last bits as halves. The sums are divided by it.
__device__ __align__(16) uint2 filter[MAP_GROUPS * CHUNKS * WEIGHTS + 2];

__device__ __forceinline__ float inverse_scale()
{
    return __uint_as_float(filter[MAP_GROUPS * CHUNKS * WEIGHTS].x);
}

// Starts the copies of `count` chunks of weights to shared memory. The address there is converted
// once, by hand: nvcc would convert that of each vector anew.
template <int count>
__device__ __forceinline__ void copy_weights(uint2* to, const uint2* from)
{
    constexpr int VECTORS = count * WEIGHTS / 2;   // of 16 bytes
    const unsigned address = shared_address(to) + threadIdx.x * 16;
    const uint4* vector = reinterpret_cast<const uint4*>(from) + threadIdx.x;
    #pragma unroll
    for (int first = 0; first < VECTORS; first += THREADS) {
        if (first + THREADS <= VECTORS || first + threadIdx.x < VECTORS) {
            start_copy_past_l1(address + first * 16, vector + first, 16);
        }
    }
    commit_copies();
}

// ------------------------------------------------------------------------------------------------
// Cells

// Where a tile begins: its first image, output row and output column.
struct Origin {
    int image;
    int top;
    int left;
};

// Tiles are numbered along rows, then along columns, then over images.
__device__ __forceinline__ Origin origin_of(int tile)
{
    Origin origin;
    origin.left = tile % TILES_ACROSS * TILE_W;
    origin.top = tile / TILES_ACROSS % TILES_DOWN * TILE_H;
    origin.image = tile / (TILES_ACROSS * TILES_DOWN) * IMAGES;
    return origin;
}

__device__ __forceinline__ int tiles_of(int B)
{
    return TILES_ACROSS * TILES_DOWN * ceil_div(B, IMAGES);
}

// A place is where octets of the tile begin, one in each plane. A thread stages those of ROUNDS
// places.
constexpr int ROUNDS = ceil_div(PLACES, THREADS);
typedef Cell RawOctets[OCTETS][8];   // the cells of one place, as they are in x

// The place that the thread stages in a round: its image, row and column, counted in octets.
struct OctetPlace {
    int image;
    int row;
    int column;
    bool inside;   // whether the tile has it
};

__device__ __forceinline__ OctetPlace octet_place(int round)
{
    const int i = threadIdx.x + round * THREADS;
    OctetPlace at;
    at.column = i % CELL_COLUMNS;
    at.row = i / CELL_COLUMNS % CELL_ROWS;
    at.image = i / (CELL_COLUMNS * CELL_ROWS);
    at.inside = (round + 1) * THREADS <= PLACES || i < PLACES;
    return at;
}

// Loads the cells of a place. Neighbouring lanes have neighbouring columns, so that each of the
// loads is coalesced. What lies beyond the edges of x, or beyond its channels, becomes 0.
__device__ __forceinline__ void load_octets(
    RawOctets& raw, const Cell* x, const OctetPlace& at, const Origin& origin, int chunk, int B)
{
    const int h = origin.top * FILTER_STRIDE + at.row;
    const int w = origin.left * FILTER_STRIDE + at.column * UNIT;
    // `first`, the tile's first cell, is the same for all threads; a thread's `offset` from there
    // is the same in every tile.
    const size_t first =
        (((size_t)origin.image * CHANNELS + chunk * CHUNK) * HEIGHT + origin.top * FILTER_STRIDE)
        * WIDTH + origin.left * FILTER_STRIDE;
    const int offset = (at.image * CHANNELS * HEIGHT + at.row) * WIDTH + at.column * UNIT;
    const Cell* from = x + first + offset;
    const bool image_inside = IMAGES == 1 || origin.image + at.image < B;
    const bool row_inside = OUT_H % TILE_H == 0 || h < HEIGHT;
    const bool inside = at.inside && image_inside && row_inside;
    #pragma unroll
    for (int e = 0; e < OCTETS * 8; ++e) {
        const int channel = e / 8 * OCTET_CHANNELS + e % OCTET_CHANNELS;
        const int column = e % 8 / OCTET_CHANNELS;
        const bool column_inside =
            OUT_W % TILE_W == 0 && OCTET_COLUMNS == 1 || w + column < WIDTH;
        const bool channel_inside = CHUNKS == 1 ? channel < CHANNELS
            : CHANNELS % CHUNK == 0 || chunk * CHUNK + channel < CHANNELS;
        raw[e / 8][e % 8] = inside && column_inside && channel_inside
            ? from[channel * HEIGHT * WIDTH + column] : Cell(0.0f);
    }
}

// The cells of an octet as halves. With PARTS = 2, `residuals` receives what rounding left of them.
__device__ __forceinline__ uint4 halves_of(const Cell (&raw)[8], uint4& residuals)
{
    Pair pairs[4];
    Pair rest[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
#if HALF_IO
        const __half2 pair = __halves2half2(raw[2 * i], raw[2 * i + 1]);
        pairs[i] = *reinterpret_cast<const Pair*>(&pair);
        rest[i] = 0;
#else
        pairs[i] = to_pair(raw[2 * i], raw[2 * i + 1]);
        rest[i] = PARTS == 2 ? residual_pair(raw[2 * i], raw[2 * i + 1], pairs[i]) : 0;
#endif
    }
    residuals = make_uint4(rest[0], rest[1], rest[2], rest[3]);
    return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Stores the octets of a place among the cells, and their residuals CELLS octets further on.
__device__ __forceinline__ void store_octets(
    uint4* cells, const RawOctets& raw, const OctetPlace& at)
{
    const int column = at.column % PHASES * PHASE_WIDTH + at.column / PHASES;
    uint4* to = cells + at.image * IMAGE_PITCH + at.row * PITCH + column;
    if (at.inside) {
        #pragma unroll
        for (int octet = 0; octet < OCTETS; ++octet) {
            uint4 residuals;
            to[octet * PLANE] = halves_of(raw[octet], residuals);
            if (PARTS == 2) {
                to[octet * PLANE + CELLS] = residuals;
            }
        }
    }
}

// Loads the thread's cells of a chunk into registers.
__device__ __forceinline__ void load_cells(
    RawOctets (&raw)[ROUNDS], const Cell* x, const Origin& origin, int chunk, int B)
{
    #pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        load_octets(raw[round], x, octet_place(round), origin, chunk, B);
    }
}

// Stores them. Others read them: a barrier must follow.
__device__ __forceinline__ void store_cells(uint4* cells, const RawOctets (&raw)[ROUNDS])
{
    #pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        store_octets(cells, raw[round], octet_place(round));
    }
}

// ------------------------------------------------------------------------------------------------
// Products

// A warp's sums: 16 outputs x 8 maps each.
typedef Accumulator Sums[ROW_TILES][MAP_TILES];

// The output, counted in the tile, of a row of A. A row beyond the last output has none: it repeats
// the one 16 rows before it, or 32, ..., whose octet ldmatrix may read, in a slot of its own.
__device__ __forceinline__ int output_of(int row)
{
    const int n = PAIRED ? row / 16 * 16 + row % 8 * 2 + row / 8 % 2 : row;
    const int earlier = n - ((n - OUTPUTS) / 16 + 1) * 16;
    return n < OUTPUTS ? n : OUTPUTS >= 16 ? earlier : n % 2 < OUTPUTS ? n % 2 : 0;
}

// The octet in which the window of the lane's row of A begins, for each of its ROW_TILES: lanes 0
// to 15 name the rows of a fragment for ldmatrix, and lanes 16 to 31 name them again.
__device__ __forceinline__ void find_corners(int (&corner)[ROW_TILES], int first_row)
{
    #pragma unroll
    for (int m = 0; m < ROW_TILES; ++m) {
        const int n = output_of(first_row + m * 16 + threadIdx.x % 16);
        const int image = n / (TILE_H * TILE_W);
        const int h = n / TILE_W % TILE_H;
        const int w = n % TILE_W;
        corner[m] = image * IMAGE_PITCH + h * FILTER_STRIDE * PITCH + (PAIRED ? w / 2 : w);
    }
}

// The octet of a slice, counted from the corner of an output in an even or an odd column.
__host__ __device__ constexpr int slice_offset(int slice, bool odd)
{
    const int i = slice < SLICES ? slice : SLICES - 1;
    const int octet = i % OCTETS;
    const int p = i / OCTETS / OCTETS_ACROSS;
    const int across = i / OCTETS % OCTETS_ACROSS * OCTET_COLUMNS / UNIT;
    const int column = across + (PAIRED && odd ? FILTER_STRIDE / UNIT : 0);
    return octet * PLANE + p * PITCH + column % PHASES * PHASE_WIDTH + column / PHASES;
}

// The octet that the lane names for ldmatrix in a step, counted from that of lane 0. Lanes 0 to 15
// name the first slice, the others the second; with PAIRED, rows 8 to 15 are odd outputs. `odd` and
// `second` are 0 or 1. The four cases are written as a sum of products, because most steps have the
// same distances: the compiler computes such a sum once for all of them.
__device__ __forceinline__ int lane_offset(int step)
{
    const int odd = threadIdx.x / 8 % 2;
    const int second = threadIdx.x / 16 % 2;
    const int first = slice_offset(2 * step, false);
    const int of_odd = slice_offset(2 * step, true) - first;
    const int of_second = slice_offset(2 * step + 1, false) - first;
    const int of_both = slice_offset(2 * step + 1, true) - first;
    return odd * of_odd + second * of_second + odd * second * (of_both - of_odd - of_second);
}

// A fragment of A: the warp's lanes name its 32 octets.
__device__ __forceinline__ uint4 load_fragment(const uint4* octet)
{
    uint4 a;
    const unsigned address = shared_address(octet);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "r"(address) : "memory");
    return a;
}

// ------------------------------------------------------------------------------------------------
// Outputs

__device__ __forceinline__ Cell to_cell(float value)
{
#if HALF_IO
    return __float2half(value);
#else
    return value;
#endif
}

// Stores the warp's sums. first_map: the warp's first one.
__device__ __forceinline__ void store_sums(
    Cell* y, const Sums& sum, const Origin& origin, int first_row, int first_map, float scale,
    int B)
{
    const int g = threadIdx.x % 32 / 4;
    const int map = first_map + threadIdx.x % 4 * 2;   // the lane's first one
    #pragma unroll
    for (int m = 0; m < ROW_TILES; ++m) {
        // A lane has the sums of rows g and g + 8: with PAIRED, two neighbours.
        #pragma unroll
        for (int half = 0; half < (PAIRED ? 1 : 2); ++half) {
            const int n = first_row + m * 16 + (PAIRED ? 2 * g : g + 8 * half);
            const int b = origin.image + n / (TILE_H * TILE_W);
            const int h = origin.top + n / TILE_W % TILE_H;
            const int w = origin.left + n % TILE_W;
            const bool image_inside = IMAGES == 1 || b < B;
            const bool row_inside = OUT_H % TILE_H == 0 || h < OUT_H;
            const bool column_inside = OUT_W % TILE_W == 0 || w < OUT_W;
            const bool inside = n < OUTPUTS && image_inside && row_inside && column_inside;
            Cell* first = y + (((size_t)b * OUTPUT_MAPS + map) * OUT_H + h) * OUT_W + w;
            #pragma unroll
            for (int i = 0; i < 2 * MAP_TILES; ++i) {
                const int further = i / 2 * 8 + i % 2;   // maps
                const bool map_inside =
                    OUTPUT_MAPS % (8 * BLOCK_FRAGMENTS) == 0 || map + further < OUTPUT_MAPS;
                Cell* to = first + further * OUT_H * OUT_W;
                const Accumulator& of = sum[m][i / 2];
                if (inside && map_inside) {
                    if (PAIRED) {
                        store_outputs(to, make_float2(of[i % 2] * scale, of[i % 2 + 2] * scale));
                    } else {
                        *to = to_cell(of[2 * half + i % 2] * scale);
                    }
                }
            }
        }
    }
}
