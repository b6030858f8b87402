// gemm_overlapped.cu -- gemm_persistent, with stores behind the next tile, and tiles of other sizes
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       Stores of 4 bytes from registers keep the consumers of gemm_persistent from their next
//            products. Here a warp writes 16 x 64 outputs to shared memory, by stmatrix, and the
//            copy engine stores them as a tile while the warp goes on. There are two such places
//            for each warp. Small products take smaller tiles, so that every multiprocessor has
//            one: the host chooses the constants by the sizes (problems/gemm.py).
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes. a_map, x_map, y_map: tensor maps of A, X and Y, with tiles
//            of HIGH x 64, 64 / CLUSTER x 64 and 16 x 64, swizzled by rows of 128 bytes.
// Launch     block = (288, 1, 1); grid = (blocks, 1, 1), a multiple of CLUSTER: as many as
//            multiprocessors, or fewer; clusters of CLUSTER blocks
// Sizes      rows >= 1; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 34,816 + STAGES * 128 * (HIGH + WIDE) bytes
// Constants  HIGH and WIDE (rows and columns of a tile: 128 and 64, 128, 192 or 256; 256 and 64 or
//            128), STAGES (in shared memory, >= 2), CLUSTER (blocks that share X's tiles: 1, 2 or
//            4), BAND (rows of a band / HIGH / CLUSTER) by -D (defaults below). Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#ifndef HIGH
#define HIGH 128
#endif
#ifndef WIDE
#define WIDE 256
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif
#ifndef BAND
#define BAND 8
#endif
#include "tensor_map.cuh"

constexpr int DEPTH = 64;                     // of a step along `inner`: 128 bytes of a row of A
constexpr int CONSUMERS = 2;                  // warpgroups; the producer is the warp behind them
constexpr int PARTS = HIGH / 64 / CONSUMERS;  // of 64 rows: a consumer's share of a tile
constexpr int PIECE = 8;                      // halves of 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int BLOCK = DEPTH * ROW;            // halves of 64 columns of X
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's
constexpr int OUTPUTS = 16 * ROW;             // halves of 16 x 64 outputs of a warp

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
__launch_bounds__(CONSUMERS * GROUP + 32, 1) gemm_overlapped(
    const TensorMap* y_map, const TensorMap* a_map, const TensorMap* x_map, int rows, int cols,
    int inner)
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

    if (threadIdx.x == CONSUMERS * GROUP) {   // the producer's first lane
        read_map(a_map);
        read_map(x_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);   // the producer, and the bytes of both tiles
            make_barrier(empty + stage, CLUSTER * CONSUMERS);   // of each block, of each consumer
        }
        publish_barriers();
    }
    wait_for_cluster();   // the barriers of all blocks of the cluster are there

    // Producer and consumers walk over the same tiles, and the ring goes on from tile to tile.
    Place<STAGES> place;
    if (warp == CONSUMERS * 4) {
        if (lane == 0) {
            for (int tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += clusters) {
                tiles.find(tile, top, left);
                for (int step = 0; step < steps; ++step) {
                    wait_for(empty + place.slot, place.parity ^ 1);
                    half* stage = stages + place.slot * STAGE;
                    Barrier* barrier = full + place.slot;
                    arrive_and_expect(barrier, STAGE * sizeof(half));
                    load_tile(stage, a_map, top, step * DEPTH, barrier);
                    #pragma unroll
                    for (int block = 0; block < WIDE / ROW; ++block) {
                        const int first = rank * (DEPTH / CLUSTER);   // of this block's share
                        half* to = stage + TILE_A + block * BLOCK + first * ROW;
                        const int column = left + block * ROW;
                        if (CLUSTER == 1) {
                            load_tile(to, x_map, step * DEPTH, column, barrier);
                        } else {
                            load_tile_for((1 << CLUSTER) - 1, to, x_map, step * DEPTH + first,
                                          column, barrier);
                        }
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
    half* outputs = stages + STAGES * STAGE + warp * 2 * OUTPUTS;
    int stored = 0;   // tiles of outputs so far
    if (lane == 0) read_map(y_map);
    float sum[PARTS][WIDE / 2];
    for (int tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += clusters) {
        // Consume. The products of a step run while this warpgroup waits for the next step's tiles.
        int before = 0;
        for (int step = 0; step < steps; ++step) {
            wait_for(full + place.slot, place.parity);
            const half* stage = stages + place.slot * STAGE;
            const Descriptor a = tile_descriptor<DEPTH>(stage + group * PARTS * 64 * ROW);
            const Descriptor x = tile_descriptor<DEPTH>(stage + TILE_A);
            begin_products();
            #pragma unroll
            for (int i = 0; i < DEPTH; i += 16) {
                #pragma unroll
                for (int part = 0; part < PARTS; ++part) {
                    // The first product of a tile replaces the sums of the tile before.
                    start_product(sum[part], a + (part * 64 * ROW + i) / PIECE,
                                  x + i * ROW / PIECE, step > 0 || i > 0);
                }
            }
            end_products();
            wait_for_products<1>();   // those of the step before: its stage may be filled again
            if (step > 0 && t < CLUSTER) arrive_at(empty + before, t);
            before = place.slot;
            place.advance();
        }
        wait_for_products<0>();
        if (t < CLUSTER) arrive_at(empty + before, t);

        // Store. A place is free again when all but the last tile that was stored are read.
        tiles.find(tile, top, left);
        #pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const int row = top + (group * PARTS + part) * 64 + warp % 4 * 16;
            #pragma unroll
            for (int first = 0; first < WIDE; first += ROW) {
                half* place_of_tile = outputs + stored++ % 2 * OUTPUTS;
                if (lane == 0) wait_until_read<1>();
                __syncwarp();
                write_outputs(place_of_tile, sum[part] + first / 2, 1.0f, lane);
                publish_tile();
                __syncwarp();
                if (lane == 0) store_tile(y_map, row, left + first, place_of_tile);
            }
        }
    }
    if (lane == 0) wait_until_read<0>();   // shared memory goes with the block
    wait_for_cluster();   // no block may end while another still copies to it or arrives at it
}
