// lenet_mma_2_two_rows.cu -- WRONG ON PURPOSE: a warp makes two rows of a window
//
// Mutant of  lenet_mma_2 (lab 22)
// Wrong      the pool has four rows, and the loop ends after two.
// Message    check: halo

#ifndef PARTS
#define PARTS 2
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
#include "mma.cuh"   // product of fragments, copies, halves: inline PTX or plain CUDA
constexpr int C = 4, M = 16, K = 7, SIDE = 40, OUT = 34, WINDOWS = 9, ACROSS = 2 * WINDOWS;   // ACROSS: pairs, one of them spare
constexpr int TILES = 2, WARPS = (WINDOWS * ACROSS + 8 * TILES - 1) / (8 * TILES), THREADS = 32 * WARPS;   // tiles: 8 pairs
constexpr int ROW = SIDE / 2, PLANE = SIDE * ROW, HALVES = C * PLANE, FOURS = HALVES / 2, FRAGMENTS = C * K * PARTS;
__device__ uint4 filter[FRAGMENTS * 32 + 1];   // [channel pair][two rows][shift][part][lane]; last: 1 / scale

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) lenet_mma_2_two_rows(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4* weights = reinterpret_cast<uint4*>(memory);
    float4* arriving = reinterpret_cast<float4*>(weights + FRAGMENTS * 32);   // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + FOURS);                  // this one, in halves: [part][channel][row][pair]
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    for (int s = t; s < FRAGMENTS * 32; s += THREADS) weights[s] = filter[s];
    const float unscale = __uint_as_float(filter[FRAGMENTS * 32].x);
    const float4* from = reinterpret_cast<const float4*>(x);
    Copy<float4, FOURS, THREADS> copy;
    if (blockIdx.x < B) copy.begin(arriving, from + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        copy.end(arriving);
        __syncthreads();   // the image is there; nobody reads the cells of the one before
        split_cells<FOURS, THREADS>(cells, HALVES, arriving);
        __syncthreads();   // sums need cells that others split; what arrives next overwrites what they read
        if (b + gridDim.x < B) copy.begin(arriving, from + (size_t)(b + gridDim.x) * FOURS);
        const Pair* at[TILES];
        int next[TILES];   // from the upper to the lower two rows of a window; the last windows have no lower ones
        for (int n = 0; n < TILES; ++n) {   // a column of B: a pair of outputs in 4 rows; two are a window
            const int column = min((warp * TILES + n) * 8 + g, WINDOWS * ACROSS - 1), row = column / ACROSS;
            at[n] = cells + row * 4 * ROW + min(column % ACROSS, OUT / 2 - 1) + q;   // the spare pair repeats the last one
            next[n] = row < WINDOWS - 1 ? 2 * ROW : 0;
        }
        int most[TILES][2] = {};   // bits of the largest; from 0: the ReLU. [tile][map g or g + 8], of a window
        #pragma unroll 1
        for (int lower = 0; lower < 1; ++lower) {   // Compute: two rows of outputs
            float total[TILES][2][2][4] = {};   // [tile][row][shift]
            #pragma unroll 1
            for (int c = 0; c < C; c += 2) {
                float sum[TILES][2][2][4] = {};   // tensor cores cut off what they add: they add up two channels only
                const uint4* a = weights + c / 2 * K * 2 * PARTS * 32 + lane;
                #pragma unroll
                for (int i = 0; i < K * PRODUCTS * TILES * 4; ++i) {   // products that follow each other are of different sums
                    const int step = i / (PRODUCTS * TILES * 4), product = i / (TILES * 4) % PRODUCTS, n = i / 4 % TILES;
                    const int r = 2 * step, j = i / 2 % 2, s = i % 2;   // rows r, r + 1 of both channels' 2 K; row j, shift s
                    const int low = (j + r % K) * ROW + r / K * PLANE, high = (j + (r + 1) % K) * ROW + (r + 1) / K * PLANE;
                    const Pair* from = at[n] + c * PLANE + rest_of_cells(product) * HALVES;
                    multiply(sum[n][j][s], a[((r + s) * PARTS + rest_of_weights(product)) * 32], from[low], from[high]);
                }
                for (int i = 0; i < TILES * 16; ++i) (&total[0][0][0][0])[i] += (&sum[0][0][0][0])[i];
            }
            #pragma unroll
            for (int i = 0; i < TILES * 16; ++i)   // Pool: of a lane's sums all of a map are of one window
                most[i / 16][i % 4 / 2] = max(most[i / 16][i % 4 / 2], __float_as_int((&total[0][0][0][0])[i]));
            for (int n = 0; n < TILES; ++n) at[n] += next[n];
        }
        for (int i = 0; i < TILES * 2; ++i) {   // Store
            const int window = (warp * TILES + i / 2) * 4 + q, map = g + i % 2 * 8;
            if (window < WINDOWS * WINDOWS)
                y[((size_t)b * M + map) * WINDOWS * WINDOWS + window] = __int_as_float(most[i / 2][i % 2]) * unscale;
        }
    }
}
