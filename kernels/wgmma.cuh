// wgmma.cuh -- what the kernels of layer 2 on warpgroup products share: granules, slots, barriers
//
// Words, beside those of mma.cuh, stages.cuh and warpgroup.cuh:
//   granule      8 neighbouring cells of a row as halves, from an even column on: 16 bytes
//   slot         shared memory for the granules of CHUNK channels of an image
//   producer     one of the PRODUCERS warpgroups that fill slots; two consumers multiply
//
// The tensor cores of a multiprocessor multiply A, 64 x 16, by B, 16 x COLUMNS, for a warpgroup: at
// twice the rate of mma.sync, and they read B from shared memory themselves. The 64 rows of A are
// 16 maps, each shifted by no or one row and by no or one column. So a column of B, the window of
// 2 x 2 outputs, gives all of them. Its 16 rows are two granules, of two neighbouring rows of x.
// B's columns must lie 16 bytes apart. So a granule is stored for each pair of outputs: a cell is
// stored up to four times, which costs less than reading it that often.
//
// A kernel sets PRODUCERS before it includes this file, and what mma.cuh wants.
#pragma once
#include "mma.cuh"
#include "stages.cuh"
#include "warpgroup.cuh"

// Layer 2 of the network.
constexpr int CHANNELS = 4;
constexpr int MAPS = 16;
constexpr int K = 7;
constexpr int SIDE = 40;                          // rows and columns of x
constexpr int OUT = SIDE - K + 1;                 // rows and columns of the convolution
constexpr int PLANE_CELLS = SIDE * SIDE;
constexpr int IMAGE = CHANNELS * PLANE_CELLS;     // cells

constexpr int CHUNK = 2;                          // channels of a slot
constexpr int CHUNKS = CHANNELS / CHUNK;
constexpr int STEPS = (K + 1) / 2;                // of a channel: two rows of a window each
constexpr int ALL_STEPS = CHANNELS * STEPS;
constexpr int PRODUCER_THREADS = PRODUCERS * GROUP;
constexpr int CONSUMERS = 2;                      // warpgroups
constexpr int THREADS = CONSUMERS * GROUP + PRODUCER_THREADS;
constexpr int FILL_UNROLL = HALF_IO ? 6 : 2;      // granules that a producing thread makes at once
constexpr int PRODUCER_BARRIER = 1;               // numbers of barriers, see sync_threads
constexpr int CONSUMER_BARRIER = 2;               // of the first consumer; the second has the next
constexpr int TURN_BARRIER = 4;                   // likewise: a consumer's turn to multiply

// A barrier of some of the block's threads, by number. 0 is that of __syncthreads.
__device__ __forceinline__ void sync_threads(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

__device__ __forceinline__ void arrive_threads(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

// ------------------------------------------------------------------------------------------------
// Granules
//
// Of a channel the granules of all rows that are alike modulo PLANES lie in one plane, row by row,
// ACROSS in a row. Then the granules of one row of the window lie 16 bytes apart for all columns of
// B, from one row of outputs to the next as well, and a window that begins further down begins
// further on in the same plane.
//   PLANES = 2   columns of B are the pairs of rows of outputs, one after the other
//   PLANES = 4   every second pair of rows: the other half of them has planes of its own
template <int ACROSS_, int PLANES_>
struct Granules {
    static constexpr int ACROSS = ACROSS_;
    static constexpr int PLANES = PLANES_;
    static constexpr int CHANNEL = SIDE / PLANES * ACROSS;   // of a plane, one channel's
    static constexpr int PLANE = CHUNK * CHANNEL;
    static constexpr int PART = PLANES * PLANE;              // from a cell to its residual
    static constexpr int SLOT = PARTS * PART + 8;            // the last columns of B read beyond it

    // The first granule of a window in a slot: its two rows number `step` of a channel, for the
    // first (0) or the second (1) pair of rows of outputs in four.
    __device__ static constexpr int window(int channel, int step, int second)
    {
        const int first = channel * CHANNEL;
        return PLANES == 2 ? first + step * ACROSS
                           : first + (step % 2 ^ second) * 2 * PLANE + (step + second) / 2 * ACROSS;
    }
};

// Fills a slot with the granules of CHUNK channels, by the producer's threads, of which this is
// number t. A thread keeps to one column and one plane, and goes down STEP rows at a time, so that
// all its addresses are constants apart. Columns beyond the last pair of outputs repeat it.
template <class G>
__device__ __forceinline__ void fill_slot(uint4* slot, const Cell* channels, int t)
{
    constexpr int STEP = PRODUCER_THREADS / G::ACROSS / G::PLANES * G::PLANES;
    constexpr int ROWS = CHUNK * SIDE;                // the channels lie below each other
    const int first = t / G::ACROSS;                  // row
    const int column = t % G::ACROSS;
    const Cell* cells = channels + first * SIDE + 2 * min(column, OUT / 2 - 1);
    uint4* to = slot + first % G::PLANES * G::PLANE + first / G::PLANES * G::ACROSS + column;
    if (first >= STEP) return;                        // a few threads have no column

    #pragma unroll FILL_UNROLL
    for (int row = first; row < ROWS; row += STEP) {
#if HALF_IO
        const Pair* pairs = reinterpret_cast<const Pair*>(cells);
        *to = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
#else
        const float2* pairs = reinterpret_cast<const float2*>(cells);
        const float2 a = pairs[0];
        const float2 b = pairs[1];
        const float2 c = pairs[2];
        const float2 d = pairs[3];
        const uint4 granule =
            make_uint4(to_pair(a.x, a.y), to_pair(b.x, b.y), to_pair(c.x, c.y), to_pair(d.x, d.y));
        *to = granule;
        if constexpr (PARTS == 2) {
            to[G::PART] = make_uint4(
                residual_pair(a.x, a.y, granule.x), residual_pair(b.x, b.y, granule.y),
                residual_pair(c.x, c.y, granule.z), residual_pair(d.x, d.y, granule.w));
        }
#endif
        cells += STEP * SIDE;
        to += STEP / G::PLANES * G::ACROSS;
    }
}

// ------------------------------------------------------------------------------------------------
// Products of a warpgroup

// The sums of a lane as operands of an instruction. Their names are those of warpgroup.cuh.
#define SUMS_4(i) "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])
#define SUMS_12(i) SUMS_4(i), SUMS_4((i) + 4), SUMS_4((i) + 8)
#define SUMS_36(i) SUMS_12(i), SUMS_12((i) + 12), SUMS_12((i) + 24)
#define SUMS_44(i) SUMS_36(i), SUMS_4((i) + 36), SUMS_4((i) + 40)

// Starts sum = A B (keep = 0) or sum += A B (keep = 1) for COLUMNS columns of B. A lies in
// registers, in the fragments of mma.cuh, 16 rows a warp; or in shared memory, as B does. The
// products of a warpgroup are made in order, in the background. N0 to N5: the numbers of what
// follows COLUMNS / 2 = N0 sums.
#define DEFINE_START_PRODUCTS(COLUMNS, N0, N1, N2, N3, N4, N5)                                     \
    __device__ __forceinline__ void start_product(                                                 \
        float (&sum)[N0], const uint4& a, Descriptor b, int keep)                                  \
    {                                                                                              \
        asm volatile(                                                                              \
            "{\n"                                                                                  \
            ".reg .pred keep;\n"                                                                   \
            "setp.ne.b32 keep, %" #N5 ", 0;\n"                                                     \
            "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.f16.f16 "                        \
            "{" NAMES_##COLUMNS "}, {%" #N0 ", %" #N1 ", %" #N2 ", %" #N3 "}, %" #N4               \
            ", keep, 1, 1, 0;\n"                                                                   \
            "}"                                                                                    \
            : SUMS_##N0(0) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(keep));           \
    }                                                                                              \
    __device__ __forceinline__ void start_product(                                                 \
        float (&sum)[N0], Descriptor a, Descriptor b, int keep)                                    \
    {                                                                                              \
        asm volatile(                                                                              \
            "{\n"                                                                                  \
            ".reg .pred keep;\n"                                                                   \
            "setp.ne.b32 keep, %" #N2 ", 0;\n"                                                     \
            "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.f16.f16 "                        \
            "{" NAMES_##COLUMNS "}, %" #N0 ", %" #N1 ", keep, 1, 1, 0, 0;\n"                       \
            "}"                                                                                    \
            : SUMS_##N0(0) : "l"(a), "l"(b), "r"(keep));                                           \
    }
DEFINE_START_PRODUCTS(24, 12, 13, 14, 15, 16, 17)
DEFINE_START_PRODUCTS(72, 36, 37, 38, 39, 40, 41)
DEFINE_START_PRODUCTS(88, 44, 45, 46, 47, 48, 49)

// The weights of a lane: of each step A's fragment, and with PARTS = 2 that of the residuals; those
// of the last SHARED steps lie in shared memory, where registers do not suffice.
template <int SHARED>
struct Weights {
    static constexpr int KEPT = PARTS == 2 ? ALL_STEPS - SHARED : 1;   // residuals in registers
    uint4 high[ALL_STEPS];
    uint4 low[KEPT];
    Descriptor shared_low;                                             // the first of the others
};

constexpr int STEP_VECTORS = 64 * 16 * 2 / 16;   // of 16 bytes, in A

// Loads them, by a warpgroup. `filter`: [step][part][lane]. shared_low: [step]
template <int SHARED>
__device__ __forceinline__ void load_weights(
    Weights<SHARED>& weights, const uint4* filter, const uint4* shared_low)
{
    const int lane = threadIdx.x % GROUP;
    #pragma unroll
    for (int step = 0; step < ALL_STEPS; ++step) {
        weights.high[step] = filter[step * PARTS * GROUP + lane];
        if (PARTS == 2 && step < Weights<SHARED>::KEPT) {
            weights.low[step] = filter[(step * PARTS + 1) * GROUP + lane];
        }
    }
    // The 8 rows that follow are 128 bytes on, the other 8 of 16 columns 1,024 bytes.
    weights.shared_low = descriptor(shared_address(shared_low), 64, 8);
}

// Puts the residuals of the last SHARED steps into shared memory, by THREADS threads, in pieces of
// 8 rows by 16 bytes: [step][columns 0 to 7 or 8 to 15][eight rows][row][Pair].
template <int SHARED, int THREADS>
__device__ __forceinline__ void share_residuals(uint4* shared_low, const uint4* filter)
{
    for (int i = threadIdx.x; i < SHARED * GROUP; i += THREADS) {
        const int step = i / GROUP;
        const int warp = i % GROUP / 32;
        const int g = i % 32 / 4;
        const int q = i % 4;
        const int kept = ALL_STEPS - SHARED;
        const uint4 a = filter[((kept + step) * PARTS + PARTS - 1) * GROUP + i % GROUP];
        Pair* to = reinterpret_cast<Pair*>(shared_low + step * STEP_VECTORS) + 4 * g + q;
        const int rows = 8 * 4;   // Pairs in a piece
        to[(2 * warp) * rows] = a.x;
        to[(2 * warp + 1) * rows] = a.y;
        to[(8 + 2 * warp) * rows] = a.z;
        to[(8 + 2 * warp + 1) * rows] = a.w;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // the tensor cores read them
}

// Starts the products of one chunk of channels. first: address of the window of B's first column,
// in granules; second: which pair of rows in four (Granules::window); keep: add to the sums.
template <class G, int N, int SHARED>
__device__ __forceinline__ void start_chunk(
    float (&sum)[N], const Weights<SHARED>& weights, unsigned first, int chunk, int second,
    bool keep)
{
    #pragma unroll
    for (int channel = 0; channel < CHUNK; ++channel) {
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const int k = (chunk * CHUNK + channel) * STEPS + step;
            #pragma unroll
            for (int product = 0; product < PRODUCTS; ++product) {
                const unsigned window =
                    first + G::window(channel, step, second) + cell_part(product) * G::PART;
                const Descriptor b = descriptor(16 * window, G::PLANE, 8);
                const int add = keep || channel + step + product > 0;
                if (weight_part(product) == 0) {
                    start_product(sum, weights.high[k], b, add);
                } else if (k < Weights<SHARED>::KEPT) {
                    start_product(sum, weights.low[k], b, add);
                } else {
                    const int place = (k - Weights<SHARED>::KEPT) * STEP_VECTORS;
                    start_product(sum, weights.shared_low + place, b, add);
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Slots, one after the other

// The barriers of the ring: a slot is filled, or nobody reads it any more.
struct Ring {
    Barrier* filled;
    Barrier* read;
    const uint4* slots;
};

// Makes the barriers of a ring and of the stages, by one thread. readers: the arrivals after which
// nobody reads a slot any more.
template <int SLOTS, int STAGES>
__device__ __forceinline__ void make_barriers(const Ring& ring, Barrier* arrived, int readers)
{
    for (int slot = 0; slot < SLOTS; ++slot) {
        make_barrier(ring.filled + slot, PRODUCER_THREADS);
        make_barrier(ring.read + slot, readers);
    }
    for (int stage = 0; stage < STAGES; ++stage) {
        make_barrier(arrived + stage, 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// The sums of both chunks for 2 N columns of B, from the granule `first` of their slots on. last:
// the warpgroup needs both slots no more.
template <class G, int SLOTS, int N, int SHARED>
__device__ __forceinline__ void make_sums(
    float (&sum)[N], const Weights<SHARED>& weights, const Ring& ring, Place<SLOTS> place,
    int first, int second, bool last)
{
    Place<SLOTS> next = place;
    next.advance();
    const unsigned slots = shared_address(ring.slots) / 16 + first;
    const bool tells = last && threadIdx.x % 32 == 0;

    wait_for(ring.filled + place.slot, place.parity);
    begin_products();
    start_chunk<G>(sum, weights, slots + place.slot * G::SLOT, 0, second, false);
    end_products();
    wait_for(ring.filled + next.slot, next.parity);
    begin_products();
    if constexpr (PARTS == 2) {
        // Tensor cores cut off where FP32 rounds. So they sum up two channels only, and FP32 adds
        // these sums.
        float other[N];
        start_chunk<G>(other, weights, slots + next.slot * G::SLOT, 1, second, false);
        end_products();
        wait_for_products<1>();
        if (tells) arrive(ring.read + place.slot);
        wait_for_products<0>();
        if (tells) arrive(ring.read + next.slot);
        #pragma unroll
        for (int i = 0; i < N; ++i) {
            sum[i] += other[i];
        }
    } else {
        start_chunk<G>(sum, weights, slots + next.slot * G::SLOT, 1, second, true);
        end_products();
        wait_for_products<1>();
        if (tells) arrive(ring.read + place.slot);
        wait_for_products<0>();
        if (tells) arrive(ring.read + next.slot);
    }
}

// The producer's work: image after image from `x` through STAGES stages into slots.
template <class G, int SLOTS, int STAGES>
__device__ __forceinline__ void produce(
    const Cell* x, int B, Cell* stages, Barrier* arrived, uint4* slots, const Ring& ring)
{
    constexpr int BYTES = IMAGE * sizeof(Cell);
    const int t = threadIdx.x - CONSUMERS * GROUP;
    const bool loads = t == 0;
    for (int stage = 0; stage < STAGES && loads; ++stage) {
        const size_t b = blockIdx.x + (size_t)stage * gridDim.x;
        if (b < B) {
            load_bulk(stages + stage * IMAGE, x + b * IMAGE, BYTES, arrived + stage);
        }
    }
    Place<SLOTS> place;
    Place<STAGES> stage;
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        const Cell* image = stages + stage.slot * IMAGE;
        wait_for(arrived + stage.slot, stage.parity);
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            wait_for(ring.read + place.slot, place.parity ^ 1);   // at first nobody reads
            fill_slot<G>(slots + place.slot * G::SLOT, image + chunk * CHUNK * PLANE_CELLS, t);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // for the tensor cores
            arrive(ring.filled + place.slot);
            place.advance();
        }
        sync_threads(PRODUCER_BARRIER, PRODUCER_THREADS);   // all have read the stage
        const size_t next = b + (size_t)STAGES * gridDim.x;
        if (loads && next < B) {
            load_bulk(stages + stage.slot * IMAGE, x + next * IMAGE, BYTES, arrived + stage.slot);
        }
        stage.advance();
    }
}
