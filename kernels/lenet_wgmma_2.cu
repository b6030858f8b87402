// lenet_wgmma_2.cu -- the second convolution, ReLU and max-pool by the products of warpgroups
//
// Computes   y = max-pool 4 of max(0, x * filter), valid, not flipped: (4, 40, 40) -> (16, 34, 34)
//            -> (16, 9, 9)
// Idea       As in conv2d_wgmma a column of B gives 2 x 2 outputs of 16 maps; a window of the pool
//            is four columns. Two of them are neighbours, which a lane holds together. The other
//            two, two rows below, are the same columns of another product. So the pool is a maximum
//            over registers and one shuffle, and no output of the convolution is ever stored.
// Arrays     x: float32, (B, 4, 40, 40), |x| <= 65,504, aligned to 16 bytes; y: float32, (B, 16, 9,
//            9); must not alias. filter: A's fragments as halves, times 2^k, then 2^-k.
// Launch     block = (THREADS, 1, 1), 512: two warpgroups multiply, two fill slots; grid = (blocks,
//            1): block i takes images i, i + gridDim.x, ...
// Sizes      any B. NaN is passed on, to all windows whose columns of B have it.
// Memory     shared, dynamic: 1024 + STAGES * IMAGE * 4 + SLOTS * Windows::SLOT * 16 + SHARED *
//            2048 bytes
// Constants  PARTS (1: halves, 2: split halves) by -D (default below). Compile for sm_90a.
// Reference  helpers.problems.lenet.network.max_pool of helpers.problems.lenet.network.relu of
//            helpers.reference.conv2d

#ifndef PARTS
#define PARTS 2
#endif
#define HALF_IO 0
#define PRODUCERS 2
#include "wgmma.cuh"

constexpr int POOLED = 9;                        // rows and columns of y
constexpr int STAGES = 2;
constexpr int SLOTS = PARTS == 2 ? 3 : 5;
constexpr int SHARED = PARTS == 2 ? 8 : 0;        // steps whose residuals lie in shared memory
// Registers of a thread of either kind; together they are all that a multiprocessor has.
constexpr int PRODUCER_REGISTERS = 56;
constexpr int CONSUMER_REGISTERS = 200;
using Windows = Granules<2 * POOLED, 4>;         // the last window of a row repeats its only pair

// [step][part][lane]; last: 1 / scale
__device__ uint4 filter[ALL_STEPS * PARTS * GROUP + 1];

// The larger bits. Of floats that are not negative the larger one has the larger bits; negative
// ones are negative ints. So a maximum with the int 0 is a ReLU, too. A NaN has larger bits than
// any number: it stays, where fmaxf would lose it.
template <int N>
__device__ __forceinline__ void take_largest(int (&largest)[N / 4], const float (&sum)[N])
{
    #pragma unroll
    for (int i = 0; i < N; ++i) {
        largest[i / 4] = max(largest[i / 4], __float_as_int(sum[i]));
    }
}

// Computes ROWS rows of windows, by a warpgroup: of the last row only its first two rows of outputs
// are there. N: sums of a lane.
template <int ROWS, int N>
__device__ __forceinline__ void pool_rows(
    float* y, const Weights<SHARED>& weights, const Ring& ring, Place<SLOTS> place, int top,
    bool last, float scale)
{
    const bool is_cut = top + ROWS == POOLED;
    const int pairs = is_cut ? 1 : 2;   // of rows of outputs
    int largest[N / 4] = {};
    #pragma unroll 1
    for (int second = 0; second < pairs; ++second) {
        float sum[N];
        const bool done = last && second == pairs - 1;
        make_sums<Windows>(sum, weights, ring, place, top * Windows::ACROSS, second, done);
        take_largest(largest, sum);
    }

    // Lane 4 g + q holds map warp + 4 (g / 2), and of its windows the rows g % 2 and g % 2 + 2: the
    // lane with the other rows is four lanes away. They take turns at storing.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x % GROUP / 32;
    const int g = lane / 4;
    const int q = lane % 4;
    float* to = y + (warp + g / 2 * 4) * POOLED * POOLED + top * POOLED;
    #pragma unroll
    for (int i = 0; i < N / 4; ++i) {
        const int bits = max(largest[i], __shfl_xor_sync(~0u, largest[i], 4));
        const int window = 4 * i + q;
        if (g % 2 == i % 2 && window < ROWS * POOLED) {
            to[window] = __int_as_float(bits) * scale;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
lenet_wgmma_2(float* y, const float* __restrict__ x, int B)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* barriers = reinterpret_cast<Barrier*>(memory);
    Barrier* arrived = barriers + 2 * SLOTS;                       // an image is in its stage
    float* stages = reinterpret_cast<float*>(memory + 1024);
    uint4* slots = reinterpret_cast<uint4*>(stages + STAGES * IMAGE);
    uint4* residuals = slots + SLOTS * Windows::SLOT;
    const Ring ring = {barriers, barriers + SLOTS, slots};
    // The same for all lanes of a warp, and the compiler knows it.
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);

    if (threadIdx.x == 0) {
        const int readers = 8;                                     // a lane of each consuming warp
        make_barriers<SLOTS, STAGES>(ring, arrived, readers);
    }
    share_residuals<SHARED, THREADS>(residuals, filter);
    __syncthreads();   // the barriers and the residuals are there

    // Registers go from the producers to the consumers.
    if (group >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(PRODUCER_REGISTERS));
        produce<Windows, SLOTS, STAGES>(x, B, stages, arrived, slots, ring);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(CONSUMER_REGISTERS));
        Weights<SHARED> weights;
        load_weights(weights, filter, residuals);
        const float scale = __uint_as_float(filter[ALL_STEPS * PARTS * GROUP].x);
        Place<SLOTS> place;
        for (int b = blockIdx.x, turn = 0; b < B; b += gridDim.x, ++turn) {
            // The warpgroups share the rows of windows: four, and four and the last one. They
            // change places after each image.
            const bool more = (group ^ turn) & 1;
            float* to = y + (size_t)b * MAPS * POOLED * POOLED;
            pool_rows<4, 36>(to, weights, ring, place, more ? 4 : 0, !more, scale);
            if (more) {
                pool_rows<1, 12>(to, weights, ring, place, 8, true, scale);
            }
            place.advance();
            place.advance();
        }
    }
}
