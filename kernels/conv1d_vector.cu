// conv1d_vector.cu -- 1D convolution by accesses of four floats and outputs that share registers
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0
//            (cross-correlation)
// Idea       Every access moves 16 bytes per lane: global loads (OUTPUTS / 4 in flight per thread
//            before the first is used), shared loads and stores, global stores. A thread makes
//            OUTPUTS neighbouring outputs. It keeps the cells that they need in registers, in a
//            window that moves along the tile: four new cells serve 4 * OUTPUTS multiply-adds. A
//            narrow filter runs at the speed of a copy, a wide one at that of the FP32 units.
// Arrays     N, P: float32, shape (n,), aligned to 16 bytes (an allocation is; a slice may not be);
//            must not alias.
// Launch     block = (TILE_WIDTH / OUTPUTS, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int), n need not be a multiple of 4. FILTER_WIDTH
//            odd, <= 4,095.
// Memory     shared: (2 * TILE_WIDTH + 2R, R rounded up to 4) * 4 bytes, static. constant:
//            FILTER_WIDTH * 4 in `filter`.
// Constants  TILE_WIDTH (outputs of a block), OUTPUTS (of a thread, a multiple of 4; an odd
//            multiple keeps lanes off each other's banks), FILTER_WIDTH by -D.
// Reference  helpers.reference.conv1d

#ifndef OUTPUTS
#define OUTPUTS 12
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH (64 * OUTPUTS)
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#if OUTPUTS % 4 != 0 || TILE_WIDTH % OUTPUTS != 0
#error "conv1d_vector: OUTPUTS must be a multiple of 4, and TILE_WIDTH a multiple of OUTPUTS"
#endif
#define RADIUS (FILTER_WIDTH / 2)
// The halo of one side, in whole vectors of four cells, so that all stay aligned.
#define HALO ((RADIUS + 3) / 4)
#define SPARE (4 * HALO - RADIUS)    // cells of the left halo, in 0 .. 3, that no output wants
#define VECTORS (TILE_WIDTH / 4)
#define THREADS (TILE_WIDTH / OUTPUTS)
#define OWN (OUTPUTS / 4)            // vectors of a thread's outputs
// The taps in groups of four. The first group begins SPARE taps before the filter does, because the
// window moves by whole vectors.
#define GROUPS ((SPARE + FILTER_WIDTH + 3) / 4)

__constant__ float filter[FILTER_WIDTH];

// Puts the four cells of a vector into the window.
__device__ __forceinline__ void put(float* window, float4 vector)
{
    window[0] = vector.x;
    window[1] = vector.y;
    window[2] = vector.z;
    window[3] = vector.w;
}

// Adds the four taps of group g to all outputs, and moves the window on by four cells. All of its
// loops are unrolled: every index of `sum` and `window` is a constant, so that both are registers.
// WHOLE: all four taps belong to the filter. The first and the last group may have others.
template <bool WHOLE>
__device__ __forceinline__ void add_group(
    float (&sum)[OUTPUTS], float (&window)[OUTPUTS + 4], const float4* cells, int g)
{
    // If the last group has one tap alone, it needs no more cells, and the tile has none.
    if (WHOLE || g < 2 * HALO) {
        put(window + OUTPUTS, cells[OWN + g]);
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int j = 4 * g + k - SPARE;
        if (WHOLE || (j >= 0 && j < FILTER_WIDTH)) {
            #pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) {
                sum[o] += window[o + k] * filter[j];
            }
        }
    }
    #pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
        window[o] = window[o + 4];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) conv1d_vector(float* P, const float* N, int n)
{
    __shared__ float4 tile[VECTORS + 2 * HALO];
    __shared__ float4 results[VECTORS];
    const int start = blockIdx.x * TILE_WIDTH;   // the block's first output
    // The cell of N that the tile begins with; negative in block 0.
    const int first = start - 4 * HALO;
    const int t = threadIdx.x;

    // Load. All but the first and last blocks lie inside N, halos included, and load whole vectors
    // without a guard.
    if (first >= 0 && start + TILE_WIDTH + 4 * HALO <= n) {
        const float4* source = reinterpret_cast<const float4*>(N + first);
        // Registers: all loads are issued before the first one is stored.
        float4 loaded[OWN];
        for (int k = 0; k < OWN; ++k) {
            loaded[k] = source[HALO + k * THREADS + t];
        }
        for (int h = t; h < 2 * HALO; h += THREADS) {
            const int v = h < HALO ? h : h + VECTORS;   // left halo, then right halo
            tile[v] = source[v];
        }
        for (int k = 0; k < OWN; ++k) {
            tile[HALO + k * THREADS + t] = loaded[k];
        }
    } else {
        float* cells = reinterpret_cast<float*>(tile);
        for (int s = t; s < TILE_WIDTH + 8 * HALO; s += THREADS) {
            cells[s] = first + s >= 0 && first + s < n ? N[first + s] : 0.0f;
        }
    }
    __syncthreads();   // outputs read cells that other threads loaded

    // Compute. The loop over whole groups is unrolled by eight, and not further: after four groups
    // no cell of the window is where it was, so that nothing has to be moved, and code that is as
    // long as the filter would not fit into the instruction cache.
    const float4* cells = tile + t * OWN;
    float sum[OUTPUTS] = {};
    float window[OUTPUTS + 4];
    #pragma unroll
    for (int v = 0; v < OWN; ++v) {
        put(window + 4 * v, cells[v]);
    }
    add_group<false>(sum, window, cells, 0);
    #pragma unroll 8
    for (int g = 1; g < GROUPS - 1; ++g) {
        add_group<true>(sum, window, cells, g);
    }
    if (GROUPS > 1) {
        add_group<false>(sum, window, cells, GROUPS - 1);
    }

    // Exchange. A thread's outputs are neighbours; neighbouring lanes are to store neighbouring
    // vectors.
    #pragma unroll
    for (int v = 0; v < OWN; ++v) {
        const float* four = sum + 4 * v;
        results[t * OWN + v] = make_float4(four[0], four[1], four[2], four[3]);
    }
    __syncthreads();   // threads store what others have computed

    // Store.
    #pragma unroll
    for (int k = 0; k < OWN; ++k) {
        const int v = k * THREADS + t;
        const float4 four = results[v];
        const int i = start + 4 * v;
        if (i + 3 < n) {
            reinterpret_cast<float4*>(P + i)[0] = four;
        } else {
            // The ragged end of P.
            const float each[4] = {four.x, four.y, four.z, four.w};
            for (int o = 0; o < 4; ++o) {
                if (i + o < n) {
                    P[i + o] = each[o];
                }
            }
        }
    }
}
