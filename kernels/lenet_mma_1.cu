// lenet_mma_1.cu -- the first convolution, ReLU and max-pool on tensor cores: a column of B is a window of the pool
//
// Computes   y = max-pool 2 of max(0, x * filter), valid, not flipped: (1, 86, 86) -> (4, 80, 80) -> (4, 40, 40)
// Idea       Rows of A are 4 output maps, each shifted by 0 or 1 rows and columns: the 16 sums of a column of B are the four
//            outputs of a window, of all maps. B's columns are the 8 x 8 cells that a window needs, from an even column on, so
//            that neighbouring halves are one register (see conv2d_mma_quads). For FP32 accuracy cells and weights are sums of
//            two halves. A pair of rows of cells serves the windows of a column one after another.
// Arrays     x: float32, (B, 1, 86, 86), |x| <= 65,504, aligned to 16 bytes; y: float32, (B, 4, 40, 40), aligned to 8; no alias.
//            filter: halves in the order of A's registers, times a power of two, whose inverse comes last
// Launch     block = 32 * WARPS; grid = any: block i takes images i, i + gridDim.x, ...; the next one arrives during the sums
// Sizes      any B. NaN is passed on, to all windows whose columns of B have it.
// Memory     shared, dynamic: FOURS * 16 + PARTS * PAIRS * 4 bytes
// Constants  PARTS (1: FP16 operands, FP32 sums; 2: FP32 accuracy), WARPS, RESIDENT (blocks of a multiprocessor) by -D (below)
// Reference  helpers.network.max_pool of helpers.network.relu of helpers.reference.conv2d
#ifndef PARTS
#define PARTS 2
#endif
#ifndef WARPS
#define WARPS 8
#endif
#ifndef RESIDENT
#define RESIDENT 2
#endif
#include "mma.cuh"   // product of fragments, copies, halves: inline PTX or plain CUDA
constexpr int SIDE = 86, OUT = 80, MAPS = 4, STEPS = 4, TILES = OUT / 16, DOWN = 5, THREADS = 32 * WARPS;   // TILES: of a row
constexpr int ROW = SIDE / 2, PAIRS = SIDE * ROW, FOURS = SIDE * SIDE / 4;                        // of an image
__device__ uint4 filter[STEPS * PARTS * 32 + 1];   // [two rows of the window][part][lane]; last: 1 / scale

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) lenet_mma_1(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    float4* arriving = reinterpret_cast<float4*>(memory);       // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + FOURS);    // this one, in halves: [part][row][pair]
    const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4;
    uint4 a[STEPS][PARTS];
    for (int s = 0; s < STEPS * PARTS; ++s) a[s / PARTS][s % PARTS] = filter[s * 32 + lane];
    const float unscale = __uint_as_float(filter[STEPS * PARTS * 32].x);
    const float4* from = reinterpret_cast<const float4*>(x);
    Copy<float4, FOURS, THREADS> copy;
    if (blockIdx.x < B) copy.begin(arriving, from + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        copy.end(arriving);
        __syncthreads();   // the image is there; nobody reads the cells of the one before
        split_cells<FOURS, THREADS>(cells, PAIRS, arriving);
        __syncthreads();   // a window needs cells that others split; what arrives next overwrites what they read
        if (b + gridDim.x < B) copy.begin(arriving, from + (size_t)(b + gridDim.x) * FOURS);
        for (int task = t / 32; task < OUT / 2 / DOWN * TILES; task += WARPS) {   // Compute: 8 windows across, DOWN rows of them
            const int row = task / TILES * DOWN, column = task % TILES * 8;
            const Pair* at = cells + row * 2 * ROW + column + g + q;
            float sum[DOWN][4] = {};
            #pragma unroll
            for (int i = 0; i < (STEPS + DOWN - 1) * PRODUCTS * DOWN; ++i) {   // two rows of cells: of several windows
                const int two = i / (PRODUCTS * DOWN), product = i / DOWN % PRODUCTS, n = i % DOWN, step = two - n;
                const Pair* low = at + two * 2 * ROW + rest_of_cells(product) * PAIRS;
                if (0 <= step && step < STEPS) multiply(sum[n], a[step][rest_of_weights(product)], low[0], low[ROW]);
            }
            // Pool: g = 2 map + shift by a row; sums 0 and 1: windows 2 q and 2 q + 1, not shifted by a column; 2 and 3: shifted
            float* to = y + (((size_t)b * MAPS + g / 2) * (OUT / 2) + row) * (OUT / 2) + column + 2 * q;
            #pragma unroll
            for (int n = 0; n < DOWN; ++n, to += OUT / 2) {
                // As in lenet_conv_pool a maximum of ints from 0 is the ReLU, too; fmaxf would lose a NaN.
                const int one = max(0, max(__float_as_int(sum[n][0]), __float_as_int(sum[n][2])));
                const int two = max(0, max(__float_as_int(sum[n][1]), __float_as_int(sum[n][3])));
                const int left = max(one, __shfl_xor_sync(~0u, one, 4)), right = max(two, __shfl_xor_sync(~0u, two, 4));
                const float2 made = make_float2(__int_as_float(left) * unscale, __int_as_float(right) * unscale);
                if (g % 2 == 0) *reinterpret_cast<float2*>(to) = made;
            }
        }
    }
}
