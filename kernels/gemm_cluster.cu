// gemm_cluster.cu -- gemm_tma, with tiles of X that two blocks share
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       Two blocks below each other need the same tile of X. Here they are a cluster: each
//            copies half of that tile, and every copy goes to both (multicast). L2 gives 32 KB per
//            block and step in place of 48. A stage may be filled again when the consumers of both
//            blocks are done with it, so each consumer arrives at the barriers of both. A's tile,
//            the ring and the products are those of gemm_tma.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes. a_map, x_map: tensor maps of A and X, with tiles of 128 x
//            64 and 64 x 64, swizzled by rows of 128 bytes.
// Launch     block = (288, 1, 1); grid = (ceil(cols / 256), 2 * ceil(rows / 256), 1); clusters
//            of 1 x 2 blocks
// Sizes      rows <= 65,535 * 128; cols and inner multiples of 8; each matrix < 2^31 cells
// Memory     shared, dynamic: 2048 + 4 * 49,152 bytes
// Constants  none. Compile for sm_90a.
// Reference  numpy: A @ X in float32, rounded

#include "tensor_map.cuh"

constexpr int HIGH = 128;                     // rows of a block's outputs: 64 of each consumer
constexpr int WIDE = 256;                     // and columns
constexpr int DEPTH = 64;                     // of a step along `inner`: 128 bytes of a row of A
constexpr int STAGES = 4;                     // steps in shared memory
constexpr int CONSUMERS = 2;                  // warpgroups; the producer is the warp behind them
constexpr int CLUSTER = 2;                    // blocks
constexpr int PIECE = 8;                      // halves of 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int BLOCK = DEPTH * ROW;            // halves of 64 columns of X
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

extern "C" __cluster_dims__(1, CLUSTER, 1) __global__ void
__launch_bounds__(CONSUMERS * GROUP + 32, 1) gemm_cluster(
    half* Y, const TensorMap* a_map, const TensorMap* x_map, int rows, int cols, int inner)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* full = reinterpret_cast<Barrier*>(memory);
    Barrier* empty = full + STAGES;
    // Swizzling goes by the address: a tile begins at a multiple of 1,024 bytes.
    const unsigned gap = -shared_address(memory) % 1024;
    half* stages = reinterpret_cast<half*>(memory + gap + 1024);
    const int top = blockIdx.y * HIGH;
    const int left = blockIdx.x * WIDE;
    const int steps = (inner + DEPTH - 1) / DEPTH;
    // The same for all lanes of a warp, and the compiler knows it.
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    const int lane = threadIdx.x % 32;
    const int rank = cluster_rank();

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);   // the producer, and the bytes of both tiles
            make_barrier(empty + stage, CLUSTER * CONSUMERS);   // a thread of each consumer
        }
        publish_barriers();
    }
    wait_for_cluster();   // the barriers of both blocks are there

    Place<STAGES> place;
    if (warp == CONSUMERS * 4) {
        // Produce. Both blocks' copies of X come to this block's barrier, and it expects all bytes
        // of a stage, whoever has started the copies.
        if (lane == 0) {
            read_map(a_map);
            read_map(x_map);
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
        wait_for_cluster();
        return;
    }

    // Consume. The products of a step run while this warpgroup waits for the next step's tiles.
    const int group = warp / 4;
    float sum[128] = {};
    int before = 0;
    for (int step = 0; step < steps; ++step) {
        wait_for(full + place.slot, place.parity);
        const half* tiles = stages + place.slot * STAGE;
        const Descriptor a = tile_descriptor<DEPTH>(tiles + group * 64 * ROW);
        const Descriptor x = tile_descriptor<DEPTH>(tiles + TILE_A);
        begin_products();
        #pragma unroll
        for (int i = 0; i < DEPTH; i += 16) {
            start_product(sum, a + i / PIECE, x + i * ROW / PIECE, 1);
        }
        end_products();
        wait_for_products<1>();   // the last step's are made: its stage may be filled again
        if (step > 0 && threadIdx.x % GROUP < CLUSTER) {
            arrive_at(empty + before, threadIdx.x % GROUP);
        }
        before = place.slot;
        place.advance();
    }
    wait_for_products<0>();
    wait_for_cluster();   // a block must not end before the other's last copies and arrivals

    // Store. Lane 4 g + q of a warp holds, for every eight columns, two neighbouring outputs of row
    // g and two of row g + 8.
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
