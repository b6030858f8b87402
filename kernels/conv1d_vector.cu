// conv1d_vector.cu -- 1D convolution at copy speed, every access four floats wide
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0
//            (cross-correlation)
// Idea       Every access moves 16 bytes per lane: global loads (OUTPUTS / 4 in flight per thread
//            before the first is used), shared loads and stores, global stores. A cell read once
//            from the tile is added to all four outputs of the thread that want it, with taps from
//            constant memory.
// Arrays     N, P: float32, shape (n,), aligned to 16 bytes (an allocation is; a slice may not be);
//            must not alias.
// Launch     block = (TILE_WIDTH / OUTPUTS, 1, 1); grid = (ceil(n / TILE_WIDTH), 1)
// Sizes      1 <= n <= 2,000,000,000 (indices are int), n need not be a multiple of 4. FILTER_WIDTH
//            odd, <= 4,095.
// Memory     shared: (TILE_WIDTH + 2R, R rounded up to 4) * 4 bytes, static. constant: FILTER_WIDTH
//            * 4 in `filter`.
// Constants  TILE_WIDTH (outputs of a block), OUTPUTS (of a thread, a multiple of 4), FILTER_WIDTH
//            by -D.
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

__constant__ float filter[FILTER_WIDTH];

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

    // Compute and store, four outputs at a time. Both loops over vectors are unrolled, so that nvcc
    // knows j: the tests on it vanish, and every index of `cell` and `sum` is a constant.
    #pragma unroll
    for (int k = 0; k < OUTPUTS / 4; ++k) {
        float sum[4] = {};
        #pragma unroll 16
        for (int q = 0; q <= 2 * HALO; ++q) {
            const float4 vector = tile[k * THREADS + t + q];
            const float cell[4] = {vector.x, vector.y, vector.z, vector.w};
            for (int c = 0; c < 4; ++c) {
                for (int o = 0; o < 4; ++o) {
                    // Cell c of vector q is tap j of output o.
                    const int j = 4 * q + c - SPARE - o;
                    if (j >= 0 && j < FILTER_WIDTH) {
                        sum[o] += cell[c] * filter[j];
                    }
                }
            }
        }
        const int i = start + 4 * (k * THREADS + t);
        if (i + 3 < n) {
            reinterpret_cast<float4*>(P + i)[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
        } else {
            // The ragged end of P.
            for (int o = 0; o < 4; ++o) {
                if (i + o < n) {
                    P[i + o] = sum[o];
                }
            }
        }
    }
}
