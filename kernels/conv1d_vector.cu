// conv1d_vector.cu -- 1D convolution by accesses of four floats and outputs that share registers
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0
//            (cross-correlation)
// Idea       Every access moves 16 bytes per lane: global loads (OUTPUTS / 4 in flight per thread
//            before the first is used), shared loads and stores, global stores. A thread keeps
//            the cells that NEIGHBOURS outputs need in registers, in a window that moves along the
//            tile: four new cells serve 4 * NEIGHBOURS multiply-adds. A narrow filter runs at the
//            speed of a copy. There neighbouring lanes should store neighbouring vectors, so a
//            thread makes four neighbours at a time. A wide filter is bound by the FP32 units, and
//            few cells must serve many multiply-adds: all outputs of a thread are neighbours.
// Arrays     N, P: float32, shape (n,), aligned to 16 bytes (an allocation is; a slice may not be);
//            filter: shape (FILTER_WIDTH,). P must not alias N.
// Launch     block = (TILE_WIDTH / OUTPUTS, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int), n need not be a multiple of 4. FILTER_WIDTH
//            odd, <= 4,095.
// Memory     shared: (TILE_WIDTH + 8 * ceil(R / 4)) * 4 bytes, static: the halos are whole vectors.
//            constant: FILTER_WIDTH * 4 bytes in `filter`.
// Constants  TILE_WIDTH (outputs of a block), OUTPUTS (of a thread, a multiple of 4), NEIGHBOURS (a
//            multiple of 4 that divides OUTPUTS; an odd multiple keeps lanes off each other's
//            banks), FILTER_WIDTH by -D. R = FILTER_WIDTH / 2.
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
#ifndef NEIGHBOURS
#if FILTER_WIDTH < 48
#define NEIGHBOURS 4
#else
#define NEIGHBOURS OUTPUTS
#endif
#endif
#if NEIGHBOURS % 4 != 0 || OUTPUTS % NEIGHBOURS != 0
#error "conv1d_vector: NEIGHBOURS must be a multiple of 4, and OUTPUTS a multiple of NEIGHBOURS"
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
#define OWN (NEIGHBOURS / 4)         // vectors of neighbouring outputs
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

// Adds the four taps of group g to all neighbours, and moves the window on by four cells. All its
// loops are unrolled: every index of `sum` and `window` is a constant, so that both are registers.
// WHOLE: all four taps belong to the filter. The first and the last group may have others.
template <bool WHOLE>
__device__ __forceinline__ void add_group(
    float (&sum)[NEIGHBOURS], float (&window)[NEIGHBOURS + 4], const float4* cells, int g)
{
    // If the last group has one tap alone, it needs no more cells, and the tile has none.
    if (WHOLE || g < 2 * HALO) {
        put(window + NEIGHBOURS, cells[OWN + g]);
    }
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int j = 4 * g + k - SPARE;
        if (WHOLE || (j >= 0 && j < FILTER_WIDTH)) {
            #pragma unroll
            for (int o = 0; o < NEIGHBOURS; ++o) {
                sum[o] += window[o + k] * filter[j];
            }
        }
    }
    #pragma unroll
    for (int o = 0; o < NEIGHBOURS; ++o) {
        window[o] = window[o + 4];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) conv1d_vector(float* P, const float* N, int n)
{
    __shared__ float4 tile[VECTORS + 2 * HALO];
    const int start = blockIdx.x * TILE_WIDTH;   // the block's first output
    // The cell of N that the tile begins with; negative in block 0.
    const int first = start - 4 * HALO;
    const int t = threadIdx.x;

    // Load. All but the first and last blocks lie inside N, halos included, and load whole vectors
    // without a guard.
    if (first >= 0 && start + TILE_WIDTH + 4 * HALO <= n) {
        const float4* source = reinterpret_cast<const float4*>(N + first);
        // Registers: all loads are issued before the first one is stored.
        float4 loaded[OUTPUTS / 4];
        for (int k = 0; k < OUTPUTS / 4; ++k) {
            loaded[k] = source[HALO + k * THREADS + t];
        }
        for (int h = t; h < 2 * HALO; h += THREADS) {
            const int v = h < HALO ? h : h + VECTORS;   // left halo, then right halo
            tile[v] = source[v];
        }
        for (int k = 0; k < OUTPUTS / 4; ++k) {
            tile[HALO + k * THREADS + t] = loaded[k];
        }
    } else {
        float* cells = reinterpret_cast<float*>(tile);
        for (int s = t; s < TILE_WIDTH + 8 * HALO; s += THREADS) {
            cells[s] = first + s >= 0 && first + s < n ? N[first + s] : 0.0f;
        }
    }
    __syncthreads();   // outputs read cells that other threads loaded

    #pragma unroll
    for (int k = 0; k < OUTPUTS / NEIGHBOURS; ++k) {
        // Compute. The loop over whole groups is unrolled, because the window then moves without an
        // instruction: the compiler gives its cells other names. It is not unrolled completely for
        // a wide filter, because a longer code does not run faster.
        const int own = (k * THREADS + t) * OWN;   // the first vector of these outputs
        const float4* cells = tile + own;
        float sum[NEIGHBOURS] = {};
        float window[NEIGHBOURS + 4];
        #pragma unroll
        for (int v = 0; v < OWN; ++v) {
            put(window + 4 * v, cells[v]);
        }
        add_group<false>(sum, window, cells, 0);
        #pragma unroll 16
        for (int g = 1; g < GROUPS - 1; ++g) {
            add_group<true>(sum, window, cells, g);
        }
        if (GROUPS > 1) {
            add_group<false>(sum, window, cells, GROUPS - 1);
        }

        // Store.
        #pragma unroll
        for (int v = 0; v < OWN; ++v) {
            const float* four = sum + 4 * v;
            const int i = start + 4 * (own + v);
            if (i + 3 < n) {
                const float4 vector = make_float4(four[0], four[1], four[2], four[3]);
                reinterpret_cast<float4*>(P + i)[0] = vector;
            } else {
                // The ragged end of P.
                #pragma unroll
                for (int o = 0; o < 4; ++o) {
                    if (i + o < n) {
                        P[i + o] = four[o];
                    }
                }
            }
        }
    }
}
