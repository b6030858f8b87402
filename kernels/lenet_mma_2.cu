// lenet_mma_2.cu -- the second convolution, ReLU and max-pool on tensor cores: a warp keeps a row of windows
//
// Computes   y = max-pool 4 of max(0, x * filter), valid, not flipped: (4, 40, 40) -> (16, 34, 34) -> (16, 9, 9), the last cut
// Idea       Rows of A are the 16 output maps, a column of B serves two neighbouring outputs (see conv2d_mma_pairs). A lane's sums
//            are whole windows, four rows in turn: the pool is a maximum over registers, and no output is ever stored.
// Arrays     x: float32, (B, 4, 40, 40), |x| <= 65,504, aligned to 16 bytes; y: float32, (B, 16, 9, 9); must not alias.
//            filter: halves in the order of A's registers, times a power of two, whose inverse comes last
// Launch     block = 32 * 9: a warp for each row of windows; grid = any: block i takes images i, i + gridDim.x, ...
// Sizes      any B. NaN is passed on, to all windows whose columns of B have it.
// Memory     shared, dynamic: FRAGMENTS * 512 + FOURS * 16 + PARTS * HALVES * 4 bytes
// Constants  PARTS (1: FP16 operands, FP32 sums; 2: FP32 accuracy), RESIDENT (blocks of a multiprocessor) by -D (defaults below)
// Reference  helpers.network.max_pool of helpers.network.relu of helpers.reference.conv2d
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

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) lenet_mma_2(float* y, const float* __restrict__ x, int B)
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
