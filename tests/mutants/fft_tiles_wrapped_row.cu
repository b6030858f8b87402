// fft_tiles_wrapped_row.cu -- WRONG ON PURPOSE: one wrapped row and column are kept
//
// Mutant of  conv2d_fft_tiles (lab 20)
// Wrong      tiles of SIDE - K + 2 outputs: the first row and column of each is what wrapped around.
// Message    check: suspect (a row and a column that wrapped around are kept)

#ifndef LOG_SIDE
#define LOG_SIDE 5
#define STAGES 2
#endif
#define SIDE (1 << LOG_SIDE)
#define CELLS (SIDE * SIDE)
#define THREADS (CELLS >> STAGES)
#define AT(i) ((i) + (i) / 16)   // a spare cell after 16 against bank conflicts
__device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
template <bool FORWARD> __device__ void transform(float2* tile, const float2* twiddles)
{
    #pragma unroll
    for (int pass = 0; pass < 2 * LOG_SIDE / STAGES; ++pass) {
        const int low = FORWARD ? CELLS >> STAGES * (pass + 1) : 1 << STAGES * pass;
        const int place = threadIdx.x & (low - 1), first = ((threadIdx.x - place) << STAGES) + place;
        float2 v[1 << STAGES];
        __syncthreads();   // the cells of a group were stored by other threads
        for (int k = 0; k < 1 << STAGES; ++k) v[k] = tile[AT(first + k * low)];
        #pragma unroll
        for (int s = 0; s < STAGES; ++s) {
            const int half = FORWARD ? 1 << (STAGES - 1 - s) : 1 << s, span = half * low;
            for (int j = 0; j < 1 << (STAGES - 1); ++j) {
                const int k = (j & -half) + j, turn = (j & (half - 1)) * low + place;
                // Rows turn by places, pairs of whole rows (span >= SIDE) by the row's number alone.
                const float2 w = twiddles[span < SIDE ? turn * (SIDE / 2 / span) : turn / SIDE * (CELLS / 2 / span)];
                const float2 a = v[k], b = FORWARD ? v[k + half] : times(v[k + half], make_float2(w.x, -w.y));
                v[k] = plus(a, b);
                v[k + half] = make_float2(a.x - b.x, a.y - b.y);
                if (FORWARD) v[k + half] = times(v[k + half], w);
            }
        }
        for (int k = 0; k < 1 << STAGES; ++k) tile[AT(first + k * low)] = v[k];
    }
    __syncthreads();   // the caller goes by cells, not by groups
}

extern "C" __global__ void __launch_bounds__(THREADS) fft_tiles_wrapped_row(
    float* y, const float* x, const float2* spectrum, const float2* twiddles, int B, int C, int M, int H, int W, int K)
{
    extern __shared__ float2 cells[];   // a tile for each channel, and one for a sum over channels
    const int out_h = H - K + 1, out_w = W - K + 1, wide = SIDE - K + 2, across = (out_w + wide - 1) / wide;
    const int row = blockIdx.x / across * wide, column = blockIdx.x % across * wide;
    const int b = 2 * blockIdx.y, next = b + 1 < B ? 1 : 0;   // where no image follows on b, b travels twice
    for (int c = 0; c < C; ++c) {   // Load, and to frequencies. No output wants cells outside x: any will do.
        const float* image = x + ((size_t)b * C + c) * H * W;
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            const int cell = min(row + i / SIDE, H - 1) * W + min(column + i % SIDE, W - 1);
            cells[AT(c * CELLS + i)] = make_float2(image[cell], image[(size_t)next * C * H * W + cell]);
        }
        transform<true>(cells + AT(c * CELLS), twiddles);
    }
    float2* tile = cells + AT(C * CELLS);
    for (int m = 0; m < M; ++m) {
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {   // Multiply and sum over channels, and back.
            float2 sum = make_float2(0.0f, 0.0f);
            for (int c = 0; c < C; ++c)
                sum = plus(sum, times(cells[AT(c * CELLS + i)], spectrum[(m * C + c) * CELLS + i]));
            tile[AT(i)] = sum;   // read last, for map m - 1, by this very thread: no barrier
        }
        transform<false>(tile, twiddles);
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {   // Store what has not wrapped around.
            const int h = row + i / SIDE - (K - 2), w = column + i % SIDE - (K - 2);
            for (int s = 0; s <= next && h >= row && w >= column && h < out_h && w < out_w; ++s)
                y[((((size_t)b + s) * M + m) * out_h + h) * out_w + w] = s ? tile[AT(i)].y : tile[AT(i)].x;
        }
    }
}
