// lenet_mma_1_no_wait.cu -- WRONG ON PURPOSE: the image is split before it is there
//
// Mutant of  lenet_mma_1 (lab 22)
// Wrong      the copies in the background are not waited for.
// Message    simulator: race, array memory

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

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) lenet_mma_1_no_wait(float* y, const float* __restrict__ x, int B)
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
