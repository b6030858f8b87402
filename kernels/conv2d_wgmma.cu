// conv2d_wgmma.cu -- layer 2 on tensor cores by the products of warpgroups
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped:
//            (4, 40, 40) -> (16, 34, 34)
// Idea       A column of B is the window of 2 x 2 outputs, the 64 rows of A are 16 maps, each
//            shifted by no or one row and by no or one column (wgmma.cuh). A block keeps its
//            weights and takes image after image. Some of its warpgroups, the producers, make
//            halves of the images that have arrived, and store them so that the tensor cores can
//            read them; two others, the consumers, multiply, and store outputs. While one of these
//            two stores, the other one's products keep the tensor cores busy.
// Arrays     x: float32, or half (HALF_IO), (B, 4, 40, 40), |x| < 65,504; y: alike, (B, 16, 34,
//            34); both aligned to 16 bytes; must not alias. filter: fragments of A as halves, times
//            a power of two, then its inverse.
// Launch     block = (THREADS, 1, 1): 512, with PARTS = 2 384; grid = (blocks, 1), at most B: block
//            i takes images i, i + gridDim.x, ...
// Sizes      any B >= 1
// Memory     shared, dynamic: 1024 + STAGES * IMAGE * sizeof(Cell) + SLOTS * Windows::SLOT * 16 + 2
//            * OUTPUTS * sizeof(Cell) + SHARED * 2048 bytes
// Constants  PARTS (1: halves, 2: split halves), HALF_IO (0 or 1; 1 with PARTS = 1 only) by -D
//            (defaults below). Compile for sm_90a.
// Reference  helpers.reference.conv2d; PARTS = 1: of the rounded arrays

#ifndef PARTS
#define PARTS 2
#endif
#ifndef HALF_IO
#define HALF_IO 0
#endif
// Split halves take most registers for weights and sums: one producer has to do.
#if PARTS == 2
#define PRODUCERS 1
#else
#define PRODUCERS 2
#endif
#include "wgmma.cuh"
static_assert(PARTS == 1 || !HALF_IO, "conv2d_wgmma has PARTS = 1 where x is half");

// Registers of a thread of either kind; together they are all that a multiprocessor has.
constexpr int PRODUCER_REGISTERS = PARTS == 2 ? 40 : 72;
constexpr int CONSUMER_REGISTERS = PARTS == 2 ? 232 : 168;
// Steps whose residuals lie in shared memory, because registers do not suffice.
constexpr int SHARED = PARTS == 2 ? 10 : 0;

// Floats leave shared memory map by map: both consumers work on the same image, and take turns at
// multiplying. Halves leave it as a whole image: then each consumer has images of its own.
constexpr bool APART = HALF_IO;
constexpr int STAGES = PARTS == 2 ? 1 : HALF_IO ? 2 : 3;
constexpr int SLOTS = PARTS == 2 ? 3 : HALF_IO ? 6 : 5;
constexpr int ACROSS = OUT / 2;                  // pairs of outputs in a row
using Windows = Granules<ACROSS, 2>;

// A task is ROWS pairs of rows of outputs: three times 4, and 5 at the end. Its outputs gather in
// shared memory. Floats of a map leave as soon as the task is done, and lie in shared memory as in
// y, 16 bytes behind whole 32: then a sector of y, 32 bytes, is written in one piece. Halves of a
// map are no whole 16 bytes: they leave with those of all maps.
constexpr int MOST_ROWS = 5;
constexpr int OUTPUTS = HALF_IO ? MAPS * OUT * OUT : MAPS * MOST_ROWS * 2 * OUT;

// [step][part][lane]; last: 1 / scale
__device__ uint4 filter[ALL_STEPS * PARTS * GROUP + 1];

// Computes the outputs of ROWS pairs of rows from the pair `top` on, by a warpgroup. N: sums of a
// lane. last: the slots are needed no more.
template <int ROWS, int N>
__device__ __forceinline__ void make_rows(
    Cell* y, Cell* outputs, const Weights<SHARED>& weights, const Ring& ring, Place<SLOTS> place,
    int top, bool last, float scale, int group)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x % GROUP / 32;
    const int g = lane / 4;
    const int q = lane % 4;

    // Compute, in turns where both warpgroups have the same image.
    float sum[N];
    if (!APART) sync_threads(TURN_BARRIER + group, 2 * GROUP);
    make_sums<Windows>(sum, weights, ring, place, top * ACROSS, 0, last);
    if (!APART) arrive_threads(TURN_BARRIER + (group ^ 1), 2 * GROUP);

    // Epilogue: the outputs of all warps gather in shared memory. Lane 4 g + q has map warp + 4 (g
    // / 2) and row g % 2 of each pair. Its sums of a column of B are two neighbouring outputs.
    constexpr int PIECE = ROWS * 2 * OUT;   // outputs of a map
    constexpr int PITCH = HALF_IO ? OUT * OUT : (PIECE + 3) / 8 * 8 + 4;
    if (!HALF_IO || top == 0) {
        wait_for_bulk_stores();
        sync_threads(CONSUMER_BARRIER + group, GROUP);   // what lay there before has left
    }
    Cell* mine = outputs + (HALF_IO ? top * 2 * OUT : 0);
    mine += (warp + g / 2 * 4) * PITCH + g % 2 * OUT;
    #pragma unroll
    for (int i = 0; i < N; i += 4) {
        #pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
            const int column = 2 * i + 2 * q + odd;   // of B
            const float2 pair = make_float2(sum[i + odd] * scale, sum[i + 2 + odd] * scale);
            if (2 * i + 8 <= ROWS * ACROSS || column < ROWS * ACROSS) {
                store_outputs(mine + column / ACROSS * 2 * OUT + column % ACROSS * 2, pair);
            }
        }
    }
    fence_outputs();
    if (!HALF_IO) {
        sync_threads(CONSUMER_BARRIER + group, GROUP);   // all outputs are in shared memory
        if (warp == 0 && lane < MAPS) {
            start_bulk_store(y + lane * OUT * OUT + top * 2 * OUT, outputs + lane * PITCH, PIECE);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv2d_wgmma(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* barriers = reinterpret_cast<Barrier*>(memory);
    Barrier* arrived = barriers + 2 * SLOTS;                       // an image is in its stage
    Cell* stages = reinterpret_cast<Cell*>(memory + 1024);
    uint4* slots = reinterpret_cast<uint4*>(stages + STAGES * IMAGE);
    uint4* residuals = slots + SLOTS * Windows::SLOT;
    Cell* outputs = reinterpret_cast<Cell*>(residuals + SHARED * STEP_VECTORS);
    const Ring ring = {barriers, barriers + SLOTS, slots};
    // The same for all lanes of a warp, and the compiler knows it.
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);

    if (threadIdx.x == 0) {
        const int readers = APART ? 4 : 8;                         // a lane of each consuming warp
        make_barriers<SLOTS, STAGES>(ring, arrived, readers);
    }
    share_residuals<SHARED, THREADS>(residuals, filter);
    __syncthreads();   // the barriers and the residuals are there

    // Registers go from the producers to the consumers.
    if (group >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(PRODUCER_REGISTERS));
        produce<Windows, SLOTS, STAGES>(x, B, stages, arrived, slots, ring);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(CONSUMER_REGISTERS));
    Weights<SHARED> weights;
    load_weights(weights, filter, residuals);
    const float scale = __uint_as_float(filter[ALL_STEPS * PARTS * GROUP].x);
    outputs += group * OUTPUTS;
    Place<SLOTS> place;
    if (APART) {
        for (int i = 0; i < group * CHUNKS; ++i) {
            place.advance();
        }
        for (int b = blockIdx.x + group * gridDim.x; b < B; b += 2 * gridDim.x) {
            Cell* to = y + (size_t)b * MAPS * OUT * OUT;
            #pragma unroll 1
            for (int top = 0; top < 12; top += 4) {
                make_rows<4, 36>(to, outputs, weights, ring, place, top, false, scale, group);
            }
            make_rows<5, 44>(to, outputs, weights, ring, place, 12, true, scale, group);
            if (HALF_IO) {
                sync_threads(CONSUMER_BARRIER + group, GROUP);   // all outputs are there
                if (threadIdx.x % GROUP == 0) {
                    start_bulk_store(to, outputs, OUTPUTS);
                }
            }
            for (int i = 0; i < 2 * CHUNKS; ++i) {
                place.advance();
            }
        }
    } else {
        if (group == 1) arrive_threads(TURN_BARRIER, 2 * GROUP);   // the other one begins
        for (int b = blockIdx.x, turn = 0; b < B; b += gridDim.x, ++turn) {
            Cell* to = y + (size_t)b * MAPS * OUT * OUT;
            // The one with the larger task changes after each image.
            const int half = (group ^ turn) & 1;
            make_rows<4, 36>(to, outputs, weights, ring, place, 4 * half, false, scale, group);
            if (half == 0) {
                make_rows<4, 36>(to, outputs, weights, ring, place, 8, true, scale, group);
            } else {
                make_rows<5, 44>(to, outputs, weights, ring, place, 12, true, scale, group);
            }
            for (int i = 0; i < CHUNKS; ++i) {
                place.advance();
            }
        }
        if (group == 0) sync_threads(TURN_BARRIER, 2 * GROUP);   // the other one's last arrival
    }
    wait_for_bulk_stores();   // shared memory must live until it has been read
}
