// patch.cuh -- what kernels with a patch of sums in registers share: sizes, loads, products
//
// Words:
//   patch   the outputs of a thread: PATCH_WIDTH x PATCH_HEIGHT neighbours, of MAPS output maps
//   tile    the outputs of a block; in shared memory it is the cells of x that they need, the halo
//           included
//   plane   the part of the tile in shared memory that belongs to one channel of one image
//   tap     one weight of a map: one (c, p, q)
//
// All sizes are constants of the compilation. So the compiler can unroll the loops over a patch,
// and offsets in the tile become part of the instructions. A kernel may define some of the
// constants before it includes this file; -D sets the others (defaults below: layer 1 of the
// network):
//   of the layer    CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K
//   of a thread     PATCH_WIDTH, PATCH_HEIGHT, MAPS
//   of a block      PATCHES_X, PATCHES_Y, IMAGES, STAGED (channels in shared memory at a time)
//   of the program  UNROLL (filter rows in one round of the loop); GUARD_ALL_ROUNDS (0: only those
//                   rounds of loads ask for the end of the tile that may pass it; 1: all ask)
#pragma once

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
#ifndef PATCH_WIDTH
#define PATCH_WIDTH 4
#endif
#ifndef PATCH_HEIGHT
#define PATCH_HEIGHT 2
#endif
#ifndef MAPS
#define MAPS 4
#endif
#ifndef PATCHES_X
#define PATCHES_X 20
#endif
#ifndef PATCHES_Y
#define PATCHES_Y 8
#endif
#ifndef IMAGES
#define IMAGES 1
#endif
#ifndef STAGED
#define STAGED 1
#endif
#ifndef UNROLL
#define UNROLL 7
#endif
#ifndef GUARD_ALL_ROUNDS
#define GUARD_ALL_ROUNDS 0
#endif

// ------------------------------------------------------------------------------------------------
// Sizes

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;    // of the convolution
constexpr int OUT_W = WIDTH - K + 1;
constexpr int TAPS = CHANNELS * K * K;   // weights of a map

// The tile: outputs of a block. Where tiles or groups of maps do not overhang, no guard is needed.
constexpr int TILE_H = PATCHES_Y * PATCH_HEIGHT;
constexpr int TILE_W = PATCHES_X * PATCH_WIDTH;
constexpr int TILES_ACROSS = (OUT_W + TILE_W - 1) / TILE_W;
constexpr bool EVEN_H = OUT_H % TILE_H == 0;
constexpr bool EVEN_W = OUT_W % TILE_W == 0;
constexpr bool EVEN_MAPS = OUTPUT_MAPS % MAPS == 0;
constexpr int PADDED_MAPS = (OUTPUT_MAPS + MAPS - 1) / MAPS * MAPS;

// The block: a thread for each patch.
constexpr int PATCHES = PATCHES_X * PATCHES_Y * IMAGES;
constexpr int THREADS = (PATCHES + 31) / 32 * 32;

// Floats of one access: as many as rows and tiles are whole multiples of, at most 4.
constexpr int access_width(int row, int tile)
{
    return row % 4 == 0 && tile % 4 == 0 ? 4 : row % 2 == 0 && tile % 2 == 0 ? 2 : 1;
}
template <int n> struct Floats { using type = float; };
template <> struct Floats<2> { using type = float2; };
template <> struct Floats<4> { using type = float4; };

constexpr int LOAD_WIDTH = access_width(WIDTH, TILE_W);    // from x into the tile
constexpr int READ_WIDTH = access_width(0, PATCH_WIDTH);   // from the tile into registers
using Load = Floats<LOAD_WIDTH>::type;
using Read = Floats<READ_WIDTH>::type;

// The tile with its halo in shared memory: IMAGES * STAGED planes, one below the other.
constexpr int ROWS = TILE_H + K - 1;                  // of a plane
constexpr int PITCH = (TILE_W + K - 1 + 3) / 4 * 4;   // floats from row to row, whole vectors
constexpr int TILE_ROWS = IMAGES * STAGED * ROWS;     // of all planes

// ------------------------------------------------------------------------------------------------
// Loading the tile

// The threads take STEP rows of the tile at a time: a round. BATCH rounds are under way at once.
constexpr int STEP = THREADS / (PITCH / LOAD_WIDTH);
constexpr int ROUNDS = (TILE_ROWS + STEP - 1) / STEP;
constexpr int BATCH = ROUNDS < 16 ? ROUNDS : 16;

// Where a thread loads.
struct LoadPlace {
    const float* from;    // its first cell of x, in channel 0
    unsigned row;         // of the tile, in the first round; in each round STEP rows further down
    unsigned column;      // of the tile
    bool column_inside;   // whether x has this column
    int top;              // the row of x in which the tile begins
    int first;            // the image in which the tile begins
    int B;                // the images of x
};

// Starts the thread's loads of a batch, from channel c on. Cells beyond the edge of x, and those of
// images from B on, become 0. `batch`: the rows of the tile before it, STEP for each round.
__device__ __forceinline__ void load_batch(
    Load (&cells)[BATCH], const LoadPlace& place, unsigned batch, int c)
{
    #pragma unroll
    for (unsigned step = batch; step < batch + BATCH * STEP; step += STEP) {
        const unsigned r = place.row + step;               // row, counted over all planes
        const unsigned plane = IMAGES * STAGED == 1 ? 0 : r / ROWS;
        const unsigned h = place.top + r - plane * ROWS;   // row of x
        const bool in_tile = !GUARD_ALL_ROUNDS && step + STEP <= TILE_ROWS || r < TILE_ROWS;
        const bool image_inside = IMAGES == 1 || place.first + plane / CHANNELS < place.B;
        const bool row_inside = EVEN_H || h < HEIGHT;
        const bool inside = in_tile && image_inside && row_inside && place.column_inside;
        // From a plane of the tile to the next one it is ROWS rows, in x it is HEIGHT rows: more,
        // or fewer.
        const int offset = (c * HEIGHT + int(step) + int(plane) * (HEIGHT - ROWS)) * WIDTH;
        cells[(step - batch) / STEP] =
            inside ? *reinterpret_cast<const Load*>(place.from + offset) : Load();
    }
}

// Stores the cells of a batch in the tile. Other threads need them: a barrier must follow.
__device__ __forceinline__ void store_batch(
    float* tile, const LoadPlace& place, unsigned batch, const Load (&cells)[BATCH])
{
    #pragma unroll
    for (unsigned step = batch; step < batch + BATCH * STEP; step += STEP) {
        if (!GUARD_ALL_ROUNDS && step + STEP <= TILE_ROWS || place.row + step < TILE_ROWS) {
            float* to = tile + (place.row + step) * PITCH + place.column;
            *reinterpret_cast<Load*>(to) = cells[(step - batch) / STEP];
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Products
//
// A kernel takes one row of the filter at a time. It reads the cells that the patch needs from the
// tile into registers, then it adds up the products with every weight of the row.

constexpr int FILTER_ROWS = UNROLL;   // #pragma unroll takes no macro

// Cells of a row that a patch needs, in whole accesses.
constexpr int CELLS = (PATCH_WIDTH + K - 1 + READ_WIDTH - 1) / READ_WIDTH * READ_WIDTH;

typedef float PatchCells[PATCH_HEIGHT][CELLS];        // a thread's cells, for one row of the filter
typedef float PatchSums[PATCH_HEIGHT][PATCH_WIDTH];   // a thread's sums, of one map

// Reads a patch's cells. The first one lies in this row and column of the tile.
__device__ __forceinline__ void read_cells(
    PatchCells& cells, const float* tile, int row, int column)
{
    for (int h = 0; h < PATCH_HEIGHT; ++h) {
        const float* from = tile + (row + h) * PITCH + column;
        for (int i = 0; i < CELLS; i += READ_WIDTH) {
            const Read read = *reinterpret_cast<const Read*>(from + i);
            *reinterpret_cast<Read*>(&cells[h][i]) = read;
        }
    }
}

// Adds the products of one weight, that of the filter's column q, to the sums of its map.
__device__ __forceinline__ void add_products(
    PatchSums& sum, const PatchCells& cells, int q, float weight)
{
    for (int h = 0; h < PATCH_HEIGHT; ++h) {
        for (int w = 0; w < PATCH_WIDTH; ++w) {
            sum[h][w] += weight * cells[h][w + q];
        }
    }
}
