// gemm_persistent.cu -- gemm_cluster, with blocks that stay and an order of tiles that suits L2
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       A block of gemm_cluster begins with empty stages and ends with stores, during which
//            nothing is copied. Here there are as many blocks as multiprocessors. Each computes
//            tile after tile, and the producer copies the first steps of the next tile while the
//            consumers store. The order of tiles is ours, too: bands of BAND clusters' rows, column
//            by column. The tiles that are computed at a time then form a square rather than a
//            row, and need fewer rows of A and columns of X from DRAM.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes. a_map, x_map: tensor maps of A and X, with tiles of 128 x
//            64 and 64 x 64, swizzled by rows of 128 bytes.
// Launch     block = (288, 1, 1); grid = (blocks, 1, 1), an even number of them: as many as
//            multiprocessors, or fewer; clusters of 2 blocks
// Sizes      any rows >= 1; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 2048 + 4 * 49,152 bytes
// Constants  BAND (rows of a band / 256) by -D (default below). Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#ifndef BAND
#define BAND 8
#endif
#include "tensor_map.cuh"

constexpr int HIGH = 128;                     // rows of a block's outputs: 64 of each consumer
constexpr int WIDE = 256;                     // and columns
constexpr int DEPTH = 64;                     // of a step along `inner`: 128 bytes of a row of A
constexpr int STAGES = 4;                     // steps in shared memory
constexpr int CONSUMERS = 2;                  // warpgroups; the producer is the warp behind them
constexpr int CLUSTER = 2;                    // blocks, below each other
constexpr int PIECE = 8;                      // halves of 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int BLOCK = DEPTH * ROW;            // halves of 64 columns of X
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

// The tiles of all clusters, in their order, and the first output of this block in a tile.
struct Tiles {
    int high, wide;   // tiles of a cluster below and beside each other
    int rank;

    __device__ __forceinline__ Tiles(int rows, int cols, int rank)
        : high((rows + CLUSTER * HIGH - 1) / (CLUSTER * HIGH)), wide((cols + WIDE - 1) / WIDE),
          rank(rank)
    {
    }

    __device__ __forceinline__ int count() const
    {
        return high * wide;
    }

    __device__ __forceinline__ void find(int tile, int& top, int& left) const
    {
        const int first = tile / (BAND * wide) * BAND;   // row of tiles: the first of the band
        const int band = min(BAND, high - first);        // the last band may have fewer
        const int within = tile - first * wide;
        top = ((first + within % band) * CLUSTER + rank) * HIGH;
        left = within / band * WIDE;
    }
};

extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void
__launch_bounds__(CONSUMERS * GROUP + 32, 1) gemm_persistent(
    half* Y, const TensorMap* a_map, const TensorMap* x_map, int rows, int cols, int inner)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* full = reinterpret_cast<Barrier*>(memory);
    Barrier* empty = full + STAGES;
    // Swizzling goes by the address: a tile begins at a multiple of 1,024 bytes.
    const unsigned gap = -shared_address(memory) % 1024;
    half* stages = reinterpret_cast<half*>(memory + gap + 1024);
    const int steps = (inner + DEPTH - 1) / DEPTH;
    // The same for all lanes of a warp, and the compiler knows it.
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    const int lane = threadIdx.x % 32;
    const int rank = cluster_rank();
    const Tiles tiles(rows, cols, rank);
    const int clusters = gridDim.x / CLUSTER;
    int top, left;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);   // the producer, and the bytes of both tiles
            make_barrier(empty + stage, CLUSTER * CONSUMERS);   // a thread of each consumer
        }
        publish_barriers();
    }
    wait_for_cluster();   // the barriers of both blocks are there

    // Producer and consumers walk over the same tiles, and the ring goes on from tile to tile.
    Place<STAGES> place;
    if (warp == CONSUMERS * 4) {
        if (lane == 0) {
            read_map(a_map);
            read_map(x_map);
            for (int tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += clusters) {
                tiles.find(tile, top, left);
                for (int step = 0; step < steps; ++step) {
                    wait_for(empty + place.slot, place.parity ^ 1);
                    half* stage = stages + place.slot * STAGE;
                    Barrier* barrier = full + place.slot;
                    arrive_and_expect(barrier, STAGE * sizeof(half));
                    load_tile(stage, a_map, top, step * DEPTH, barrier);
                    #pragma unroll
                    for (int i = 0; i < WIDE / ROW / CLUSTER; ++i) {
                        const int block = i * CLUSTER + rank;
                        half* to = stage + TILE_A + block * BLOCK;
                        load_tile_for(3, to, x_map, step * DEPTH, left + block * ROW, barrier);
                    }
                    place.advance();
                }
            }
        }
        wait_for_cluster();
        return;
    }

    const int group = warp / 4;
    const int t = threadIdx.x % GROUP;
    float sum[128];
    for (int tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += clusters) {
        // Consume. The products of a step run while this warpgroup waits for the next step's tiles.
        int before = 0;
        for (int step = 0; step < steps; ++step) {
            wait_for(full + place.slot, place.parity);
            const half* stage = stages + place.slot * STAGE;
            const Descriptor a = tile_descriptor<DEPTH>(stage + group * 64 * ROW);
            const Descriptor x = tile_descriptor<DEPTH>(stage + TILE_A);
            begin_products();
            #pragma unroll
            for (int i = 0; i < DEPTH; i += 16) {
                // The first product of a tile replaces the sums of the tile before.
                start_product(sum, a + i / PIECE, x + i * ROW / PIECE, step > 0 || i > 0);
            }
            end_products();
            wait_for_products<1>();   // those of the step before: its stage may be filled again
            if (step > 0 && t < CLUSTER) arrive_at(empty + before, t);
            before = place.slot;
            place.advance();
        }
        wait_for_products<0>();
        if (t < CLUSTER) arrive_at(empty + before, t);

        // Store. Lane 4 g + q of a warp holds, for every eight columns, two neighbouring outputs of
        // row g and two of row g + 8.
        tiles.find(tile, top, left);
        const int row = top + warp * 16 + lane / 4;
        #pragma unroll
        for (int i = 0; i < 128; i += 4) {
            const int col = left + 2 * i + lane % 4 * 2;
            if (row < rows && col < cols) {
                *reinterpret_cast<half2*>(Y + (size_t)row * cols + col) =
                    __floats2half2_rn(sum[i], sum[i + 1]);
            }
            if (row + 8 < rows && col < cols) {
                *reinterpret_cast<half2*>(Y + (size_t)(row + 8) * cols + col) =
                    __floats2half2_rn(sum[i + 2], sum[i + 3]);
            }
        }
    }
    wait_for_cluster();   // a block must not end before the other's last copies and arrivals
}
