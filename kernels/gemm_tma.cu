// gemm_tma.cu -- gemm_wgmma, its tiles copied by one thread with tensor maps
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s], summed in float32
// Idea       In gemm_wgmma a whole warpgroup computes addresses, asks if they lie in the matrix,
//            and starts a copy for every 16 bytes. A tensor map tells all of that to the
//            multiprocessor's copy engine (tensor_map.cuh), which is called TMA, tensor memory
//            accelerator. One thread of one warp starts five copies in a step: A's tile and four
//            blocks of X's. The rest of gemm_wgmma stays: two consumers of 64 x 256 outputs each,
//            and a ring of tiles with two barriers for each stage.
// Arrays     A: half, (rows, inner). X: half, (inner, cols). Y: half, (rows, cols). No two may
//            alias; aligned to 16 bytes. a_map, x_map: tensor maps of A and X, with tiles of 128 x
//            64 and 64 x 64, swizzled by rows of 128 bytes.
// Launch     block = (288, 1, 1); grid = (ceil(cols / 256), ceil(rows / 128), 1)
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
constexpr int PIECE = 8;                      // halves of 16 bytes
constexpr int ROW = 64;                       // halves of a row in shared memory: 8 pieces
constexpr int BLOCK = DEPTH * ROW;            // halves of 64 columns of X
constexpr int TILE_A = HIGH * DEPTH;          // halves
constexpr int STAGE = TILE_A + DEPTH * WIDE;  // halves: A's tile, then X's

extern "C" __global__ void __launch_bounds__(CONSUMERS * GROUP + 32, 1) gemm_tma(
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

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);            // the producer, and the bytes of both tiles
            make_barrier(empty + stage, CONSUMERS);   // a thread of each consumer
        }
        publish_barriers();
    }
    __syncthreads();   // the barriers are there

    Place<STAGES> place;
    if (warp == CONSUMERS * 4) {
        // Produce. Nobody waits before the first filling of a stage: the phase before it counts as
        // over. A map with its tile knows which cells lie beyond the matrix.
        if (lane == 0) {
            read_map(a_map);
            read_map(x_map);
            for (int step = 0; step < steps; ++step) {
                wait_for(empty + place.slot, place.parity ^ 1);
                half* stage = stages + place.slot * STAGE;
                Barrier* barrier = full + place.slot;
                arrive_and_expect(barrier, STAGE * sizeof(half));
                load_tile(stage, a_map, top, step * DEPTH, barrier);
                for (int block = 0; block < WIDE / ROW; ++block) {
                    half* to = stage + TILE_A + block * BLOCK;
                    load_tile(to, x_map, step * DEPTH, left + block * ROW, barrier);
                }
                place.advance();
            }
        }
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
        if (step > 0 && threadIdx.x % GROUP == 0) arrive(empty + before);
        before = place.slot;
        place.advance();
    }
    wait_for_products<0>();

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
