// lenet_mma_1.cu -- the first convolution, ReLU and max-pool on tensor cores, by windows
//
// Computes   y = max-pool 2 of max(0, x * filter), valid, not flipped: (1, 86, 86) -> (4, 80, 80)
//            -> (4, 40, 40)
// Idea       As in conv2d_mma_quads a column of B serves 2 x 2 outputs: here these are a window of
//            the pool. The rows of A are 4 maps, each shifted by no or one row and by no or one
//            column, so that two lanes hold the four sums of a window. The largest of them is all
//            that goes to y. In split halves cells and weights are sums of two halves (mma.cuh).
// Arrays     x: float32, (B, 1, 86, 86), |x| <= 65,504, aligned to 16 bytes; y: float32, (B, 4, 40,
//            40), aligned to 8; must not alias. filter: fragments of A as halves, times a power of
//            two, then its inverse.
// Launch     block = (32 * WARPS, 1, 1); grid = (blocks, 1): block i takes images i, i + gridDim.x,
//            ...
// Sizes      any B. NaN is passed on, to all windows whose columns of B have it.
// Memory     shared, dynamic: IMAGE_VECTORS * 16 + PARTS * PART * 4 bytes
// Constants  PARTS (1: halves, 2: split halves), WARPS, RESIDENT (blocks per multiprocessor) by -D
// Reference  helpers.problems.lenet.network.max_pool of helpers.problems.lenet.network.relu of
//            helpers.reference.conv2d

#ifndef PARTS
#define PARTS 2
#endif
#ifndef WARPS
#define WARPS 8
#endif
#ifndef RESIDENT
#define RESIDENT 2
#endif
#define HALF_IO 0
#include "windows.cuh"

constexpr int SIDE = 86;                         // rows and columns of x
constexpr int OUT = 80;                          // rows and columns of the convolution
constexpr int POOLED = OUT / 2;                  // rows and columns of y
constexpr int MAPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROW = SIDE / 2;                    // Pairs in a row
constexpr int PART = SIDE * ROW;                 // Pairs in an image
constexpr int IMAGE_VECTORS = SIDE * SIDE / 4;   // four cells each

constexpr int STEPS = 4;                   // of a window: two rows of 8 cells each
constexpr int QUADS = 5;                   // windows below each other that a warp computes at once
constexpr int TASKS_ACROSS = POOLED / 8;   // 8 windows side by side
constexpr int TASKS = POOLED / QUADS * TASKS_ACROSS;

// [two rows of the window][part][lane]; last: 1 / scale
__device__ uint4 filter[STEPS * PARTS * 32 + 1];

// The larger bits. Of floats that are not negative the larger one has the larger bits; negative
// ones are negative ints. So a maximum with the int 0 is a ReLU, too. A NaN has larger bits than
// any number: it stays, where fmaxf would lose it.
__device__ int largest(int first, float second, float third)
{
    return max(first, max(__float_as_int(second), __float_as_int(third)));
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
lenet_mma_1(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    float4* stage = reinterpret_cast<float4*>(memory);   // the next image, as it is in x
    // This one, in halves: [part][row][Pair].
    Pair* cells = reinterpret_cast<Pair*>(stage + IMAGE_VECTORS);
    const int t = threadIdx.x;
    const int lane = t % 32;
    const int g = lane / 4;
    const int q = lane % 4;

    // Load what serves all images: the weights and their scale.
    uint4 weights[STEPS][PARTS];
    for (int step = 0; step < STEPS; ++step) {
        for (int part = 0; part < PARTS; ++part) {
            weights[step][part] = filter[(step * PARTS + part) * 32 + lane];
        }
    }
    const float scale = __uint_as_float(filter[STEPS * PARTS * 32].x);

    const float4* images = reinterpret_cast<const float4*>(x);
    if (blockIdx.x < B) {
        copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)blockIdx.x * IMAGE_VECTORS);
    }
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        // Load: take the image that has arrived, and ask for the next one.
        wait_for_copies();
        __syncthreads();   // the image is complete; nobody reads the cells of the one before
        split_stage<PART, IMAGE_VECTORS, THREADS>(cells, stage);
        __syncthreads();   // a window needs cells that others split; the stage is free
        const unsigned next = b + gridDim.x;
        if (next < B) {
            copy_async<IMAGE_VECTORS, THREADS>(stage, images + (size_t)next * IMAGE_VECTORS);
        }

        for (int task = t / 32; task < TASKS; task += WARPS) {
            // Compute. The task's first window has this row and column in y.
            const int row = task / TASKS_ACROSS * QUADS;
            const int column = task % TASKS_ACROSS * 8;
            const Pair* window = cells + row * 2 * ROW + column + g + q;
            Accumulator sum[QUADS] = {};
            multiply_quads<STEPS, ROW, PART>(sum, weights, window);

            // Epilogue: ReLU, pool, store. Rows g and g + 8 of A are map g / 2, shifted by g % 2
            // rows; row g + 8 is shifted by a column, too. Registers 0 and 2 belong to window 2 q
            // of the task, 1 and 3 to window 2 q + 1.
            float* to = y + (((size_t)b * MAPS + g / 2) * POOLED + row) * POOLED + column + 2 * q;
            #pragma unroll
            for (int quad = 0; quad < QUADS; ++quad) {
                const int left_row = largest(0, sum[quad][0], sum[quad][2]);
                const int right_row = largest(0, sum[quad][1], sum[quad][3]);
                // The lane with the other row of the windows is four lanes away.
                const int left = max(left_row, __shfl_xor_sync(~0u, left_row, 4));
                const int right = max(right_row, __shfl_xor_sync(~0u, right_row, 4));
                if (g % 2 == 0) {
                    *reinterpret_cast<float2*>(to + quad * POOLED) =
                        make_float2(__int_as_float(left) * scale, __int_as_float(right) * scale);
                }
            }
        }
    }
}
