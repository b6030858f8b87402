// lenet_mma_2_no_barrier.cu -- WRONG ON PURPOSE: an image is overwritten while it is used
//
// Mutant of  lenet_mma_2 (lab 22)
// Wrong      the barrier after the copy is left out: a fast warp splits the next image over cells that others still multiply.
// Message    simulator: race, array memory

#ifndef PARTS
#define PARTS 2
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
#include "mma.cuh"   // product of fragments, copies, halves: inline PTX or plain CUDA
constexpr int C = 4, M = 16, K = 7, SIDE = 40, OUT = 34, WINDOWS = 9, THREADS = 32 * WINDOWS, TILES = 3;   // of 8 pairs
constexpr int ROW = SIDE / 2, PLANE = SIDE * ROW, HALVES = C * PLANE, FOURS = HALVES / 2, FRAGMENTS = C * K * PARTS;
__device__ uint4 filter[FRAGMENTS * 32 + 1];   // [channel pair][two rows][shift][part][lane]; last: 1 / scale

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) lenet_mma_2_no_barrier(float* y, const float* __restrict__ x, int B)
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
        split_cells<FOURS, THREADS>(cells, HALVES, arriving);
        __syncthreads();   // sums need cells that others split; what arrives next overwrites what they read
        if (b + gridDim.x < B) copy.begin(arriving, from + (size_t)(b + gridDim.x) * FOURS);
        int most[TILES][2] = {};   // bits of the largest; from 0: the ReLU. [tile][map g or g + 8], of window 4 tile + q
        #pragma unroll 1
        for (int row = 4 * warp; row < min(4 * warp + 4, OUT); row += 2) {   // Compute: two rows of outputs
            float total[TILES][2][2][4] = {};   // [tile][row][shift]
            #pragma unroll 1
            for (int c = 0; c < C; c += 2) {
                float sum[TILES][2][2][4] = {};   // tensor cores cut off what they add: they add up two channels only
                #pragma unroll
                for (int step = 0; step < K; ++step) {   // rows 2 step and 2 step + 1 of the 2 K rows of two channels
                    const int one = 2 * step / K * PLANE + 2 * step % K * ROW;
                    const int two = (2 * step + 1) / K * PLANE + (2 * step + 1) % K * ROW;
                    const uint4* a = weights + (c / 2 * K + step) * 2 * PARTS * 32 + lane;
                    #pragma unroll
                    for (int i = 0; i < TILES * 4; ++i) {
                        float (&into)[4] = sum[i / 4][i / 2 % 2][i % 2];
                        const Pair* b = cells + c * PLANE + (row + i / 2 % 2) * ROW + min(i / 4 * 8 + g, OUT / 2 - 1) + q;
                        if (PARTS == 2) multiply(into, a[i % 2 * 64], b[HALVES + one], b[HALVES + two]);   // small products first
                        if (PARTS == 2) multiply(into, a[i % 2 * 64 + 32], b[one], b[two]);
                        multiply(into, a[i % 2 * PARTS * 32], b[one], b[two]);
                    }
                }
                for (int i = 0; i < TILES * 16; ++i)
                    total[i / 16][i / 8 % 2][i / 4 % 2][i % 4] += sum[i / 16][i / 8 % 2][i / 4 % 2][i % 4];
            }
            #pragma unroll
            for (int i = 0; i < TILES * 16; ++i) {   // Pool: pairs 2q, 2q + 1 are a window; the last tile has one pair only
                int& largest = most[i / 16][i % 4 / 2];
                if (i < 32 || i % 2 == 0) largest = max(largest, __float_as_int(total[i / 16][i / 8 % 2][i / 4 % 2][i % 4]));
            }
        }
        float* to = y + (((size_t)b * M + g) * WINDOWS + warp) * WINDOWS + q;
        for (int i = 0; i < TILES * 2; ++i)   // Store
            if (i < 4 || q == 0) to[i % 2 * 8 * WINDOWS * WINDOWS + i / 2 * 4] = __int_as_float(most[i / 2][i % 2]) * unscale;
    }
}
