// lenet_mma_2.cu -- the second convolution, ReLU and max-pool on tensor cores, in a lane
//
// Computes   y = max-pool 4 of max(0, x * filter), valid, not flipped: (4, 40, 40) -> (16, 34, 34)
//            -> (16, 9, 9)
// Idea       The rows of A are the 16 maps, a column of B serves two neighbouring outputs, as in
//            conv2d_mma_pairs. The sums of a lane are then two pairs of outputs in two rows: half a
//            window of the pool. The other half follows, and the pool is a maximum over registers:
//            no output of the convolution is ever stored. The map's last windows are cut: their
//            pairs beyond the edge repeat the last one.
// Arrays     x: float32, (B, 4, 40, 40), |x| <= 65,504, aligned to 16 bytes; y: float32, (B, 16, 9,
//            9); must not alias. filter: fragments of A as halves, times a power of two, then its
//            inverse.
// Launch     block = (32 * 11, 1, 1): a warp for 8 windows; grid = (blocks, 1): block i takes
//            images i, i + gridDim.x, ...
// Sizes      any B. NaN is passed on, to all windows whose columns of B have it.
// Memory     shared, dynamic: WEIGHTS * 16 + IMAGE_VECTORS * 16 + PARTS * PART * 4 bytes
// Constants  PARTS (1: halves, 2: split halves), RESIDENT (blocks of a multiprocessor) by -D
//            (defaults below)
// Reference  helpers.problems.lenet.network.max_pool of helpers.problems.lenet.network.relu of
//            helpers.reference.conv2d

#ifndef PARTS
#define PARTS 2
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
#define HALF_IO 0
#include "windows.cuh"

constexpr int CHANNELS = 4;
constexpr int MAPS = 16;
constexpr int K = 7;
constexpr int SIDE = 40;                             // rows and columns of x
constexpr int OUT = 34;                              // rows and columns of the convolution
constexpr int POOLED = 9;                            // rows and columns of y
constexpr int ROW = SIDE / 2;                        // Pairs in a row
constexpr int PLANE = SIDE * ROW;                    // Pairs in a channel
constexpr int PART = CHANNELS * PLANE;               // Pairs in an image
constexpr int IMAGE_VECTORS = PART / 2;              // four cells each
constexpr int WEIGHTS = CHANNELS * K * PARTS * 32;   // vectors: a fragment has one for each lane

// A column of B is a pair of outputs, in four rows. Two columns are a window, four windows a tile.
constexpr int ACROSS = 2 * POOLED;   // pairs in a row; the last one lies beyond the edge
constexpr int COLUMNS = POOLED * ACROSS;
constexpr int TILES = 2;             // tiles of a warp
constexpr int WARPS = (COLUMNS + 8 * TILES - 1) / (8 * TILES);
constexpr int THREADS = 32 * WARPS;

// [two channels][two of their filter rows][shift][part][lane]; last: 1 / scale
__device__ uint4 filter[WEIGHTS + 1];

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
lenet_mma_2(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4* weights = reinterpret_cast<uint4*>(memory);
    float4* stage = reinterpret_cast<float4*>(weights + WEIGHTS);   // the next image, as it is in x
    Pair* cells = reinterpret_cast<Pair*>(stage + IMAGE_VECTORS);   // [part][channel][row][Pair]
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int warp = t / 32;
    const int g = lane / 4;
    const int q = lane % 4;

    // Load what serves all images: the weights and their scale.
    for (int i = t; i < WEIGHTS; i += THREADS) {
        weights[i] = filter[i];
    }
    const float scale = __uint_as_float(filter[WEIGHTS].x);

    const float4* images = reinterpret_cast<const float4*>(x);
    if (blockIdx.x < B) {
        copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)blockIdx.x * IMAGE_VECTORS);
    }
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        // Load: take the image that has arrived, and ask for the next one.
        wait_for_copies();
        __syncthreads();   // the image is complete; nobody reads the cells of the one before
        split_stage<PART, IMAGE_VECTORS, THREADS>(cells, stage);
        __syncthreads();   // products need cells that others split; the stage is free
        const unsigned next = b + gridDim.x;
        if (next < B) {
            copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)next * IMAGE_VECTORS);
        }

        // The lane's column of B in each tile, and how far its third row of outputs is below the
        // first one.
        const Pair* windows[TILES];
        int next_rows[TILES];
        for (int tile = 0; tile < TILES; ++tile) {
            const int column = min((warp * TILES + tile) * 8 + g, COLUMNS - 1);
            const int row = column / ACROSS;
            const int pair = min(column % ACROSS, OUT / 2 - 1);
            windows[tile] = cells + row * 4 * ROW + pair + q;
            // The last windows have two rows only: take them twice.
            next_rows[tile] = row < POOLED - 1 ? 2 * ROW : 0;
        }

        // The bits of the largest sum of a window, [tile][map g or g + 8]. They begin with 0: that
        // is the ReLU (lenet_mma_1 says why a maximum of bits will do).
        int largest[TILES][2] = {};
        #pragma unroll 1
        for (int rows = 0; rows < 2; ++rows) {
            // Compute two rows of outputs.
            PairSums total[TILES] = {};
            #pragma unroll 1
            for (int channel = 0; channel < CHANNELS; channel += 2) {
                // Tensor cores cut off where FP32 rounds. So they sum up two channels only, and
                // FP32 adds these sums.
                PairSums sum[TILES] = {};
                const uint4* fragments = weights + channel * K * PARTS * 32 + lane;
                const Pair* channel_windows[TILES];
                for (int tile = 0; tile < TILES; ++tile) {
                    channel_windows[tile] = windows[tile] + channel * PLANE;
                }
                multiply_two_channels<K, ROW, PLANE, PART, 32>(sum, fragments, channel_windows);
                add(total, sum);
            }

            // Pool. Registers 0 and 1 belong to map g and to two columns of one window; 2 and 3 to
            // map g + 8.
            #pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                for (int row = 0; row < 2; ++row) {
                    for (int shift = 0; shift < 2; ++shift) {
                        for (int i = 0; i < 4; ++i) {
                            const int bits = __float_as_int(total[tile][row][shift][i]);
                            largest[tile][i / 2] = max(largest[tile][i / 2], bits);
                        }
                    }
                }
                windows[tile] += next_rows[tile];
            }
        }

        // Store.
        for (int tile = 0; tile < TILES; ++tile) {
            const int window = (warp * TILES + tile) * 4 + q;
            for (int half = 0; half < 2; ++half) {
                const int map = g + half * 8;
                if (window < POOLED * POOLED) {
                    float* to = y + ((size_t)b * MAPS + map) * POOLED * POOLED + window;
                    *to = __int_as_float(largest[tile][half]) * scale;
                }
            }
        }
    }
}
