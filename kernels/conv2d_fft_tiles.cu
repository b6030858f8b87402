// conv2d_fft_tiles.cu -- a convolution layer by Fourier transforms of tiles, two images at a time
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q]   ("valid"
//            cross-correlation)
// Idea       A tile of each channel goes to frequencies once and serves all output maps; the sums
//            of products over the channels are made there. What wraps around falls into the first K
//            - 1 rows and columns, which are dropped (overlap-save).
// Arrays     x: float32, (B, C, H, W); y: (B, M, out_h, out_w). twiddles: float2, (SIDE / 2,).
//            spectrum: float2, (M * C, SIDE^2), by fft_radix2 of filter / SIDE^2, both axes
//            backwards, filled up with zeros. None may alias.
// Launch     block = (THREADS, 1, 1); grid = (ceil(out_h / O) * ceil(out_w / O), ceil(B / 2)) with
//            O = SIDE - K + 1: a tile has O x O outputs
// Sizes      K <= SIDE = 2^LOG_SIDE, B <= 131,070, any H, W >= K: the last tile of a row or column
//            may be partial.
// Memory     shared: (C + 1) * (SIDE^2 + SIDE^2 / 16) * 8 bytes, dynamic.
// Constants  LOG_SIDE and STAGES (a divisor of 2 * LOG_SIDE) by -D, both or none (defaults below).
// Reference  helpers.reference.conv2d; tolerance helpers.problems.fft_conv2d.conv2d_atol

#ifndef LOG_SIDE
#define LOG_SIDE 5
#define STAGES 2
#endif
#define SIDE (1 << LOG_SIDE)
#define CELLS (SIDE * SIDE)
#define THREADS (CELLS >> STAGES)
#define PASSES (2 * LOG_SIDE / STAGES)
// The place of cell i in shared memory: a spare cell after 16 keeps lanes off each other's banks.
#define AT(i) ((i) + (i) / 16)

__device__ float2 plus(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ float2 minus(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

__device__ float2 times(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ float2 conjugate(float2 a)
{
    return make_float2(a.x, -a.y);
}

// The transform of a tile, in place: STAGES stages in each pass, from long spans to short ones
// (FORWARD) or back. Each thread has one group of 2^STAGES cells that lie `low` apart.
template <bool FORWARD>
__device__ void transform(float2* tile, const float2* twiddles)
{
    #pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) {
        const int low = FORWARD ? CELLS >> STAGES * (pass + 1) : 1 << STAGES * pass;
        const int place = threadIdx.x & (low - 1);                     // [0, low)
        const int first = ((threadIdx.x - place) << STAGES) + place;

        // Load the group into registers.
        float2 v[1 << STAGES];
        __syncthreads();   // the cells of a group were stored by other threads
        for (int k = 0; k < 1 << STAGES; ++k) {
            v[k] = tile[AT(first + k * low)];
        }

        // Compute: in each stage pairs of registers k and k + half, whose cells are `span` apart.
        #pragma unroll
        for (int s = 0; s < STAGES; ++s) {
            const int half = FORWARD ? 1 << (STAGES - 1 - s) : 1 << s;
            const int span = half * low;
            for (int j = 0; j < 1 << (STAGES - 1); ++j) {
                // Every register whose bit `half` is 0.
                const int k = (j & -half) + j;
                const int turn = (j & (half - 1)) * low + place;
                // Rows turn by places; pairs of whole rows (span >= SIDE) by the row's number
                // alone.
                const int angle =
                    span < SIDE ? turn * (SIDE / 2 / span) : turn / SIDE * (CELLS / 2 / span);
                const float2 w = twiddles[angle];
                // Forward, the difference is turned after the stage; the inverse turns it back
                // before.
                const float2 a = v[k];
                const float2 b = FORWARD ? v[k + half] : times(v[k + half], conjugate(w));
                v[k] = plus(a, b);
                v[k + half] = FORWARD ? times(minus(a, b), w) : minus(a, b);
            }
        }

        // Store the group where it was.
        for (int k = 0; k < 1 << STAGES; ++k) {
            tile[AT(first + k * low)] = v[k];
        }
    }
    __syncthreads();   // the caller goes by cells, not by groups
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv2d_fft_tiles(
    float* y, const float* x, const float2* spectrum, const float2* twiddles,
    int B, int C, int M, int H, int W, int K)
{
    extern __shared__ float2 cells[];   // a tile for each channel, and one for a sum over channels
    const int out_h = H - K + 1;
    const int out_w = W - K + 1;
    const int outputs = SIDE - K + 1;   // of a tile, along a row or a column
    const int tiles_across = (out_w + outputs - 1) / outputs;
    const int row = blockIdx.x / tiles_across * outputs;
    const int column = blockIdx.x % tiles_across * outputs;
    const int b = 2 * blockIdx.y;
    const int second = b + 1 < B ? 1 : 0;   // where no image follows on b, b is taken twice

    // Load a tile of each channel, and transform it. Image b is the real part, the next one the
    // imaginary part.
    for (int c = 0; c < C; ++c) {
        const float* image = x + ((size_t)b * C + c) * H * W;
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            // No output needs cells beyond the edge of x: any cell will do there.
            const int h = min(row + i / SIDE, H - 1);
            const int w = min(column + i % SIDE, W - 1);
            const int cell = h * W + w;
            const size_t next = (size_t)second * C * H * W;
            cells[AT(c * CELLS + i)] = make_float2(image[cell], image[next + cell]);
        }
        transform<true>(cells + AT(c * CELLS), twiddles);
    }

    float2* tile = cells + AT(C * CELLS);
    for (int m = 0; m < M; ++m) {
        // Compute: multiply, sum over channels, and transform back.
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            float2 sum = make_float2(0.0f, 0.0f);
            for (int c = 0; c < C; ++c) {
                sum = plus(sum, times(cells[AT(c * CELLS + i)], spectrum[(m * C + c) * CELLS + i]));
            }
            tile[AT(i)] = sum;   // no barrier: what map m - 1 left here, this very thread has read
        }
        transform<false>(tile, twiddles);

        // Store what has not wrapped around.
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            const int h = row + i / SIDE - (K - 1);
            const int w = column + i % SIDE - (K - 1);
            if (h >= row && w >= column && h < out_h && w < out_w) {
                const float2 pair = tile[AT(i)];   // of image b, and of image b + 1
                float* to = y + (((size_t)b * M + m) * out_h + h) * out_w + w;
                *to = pair.x;
                if (second) {
                    to[(size_t)M * out_h * out_w] = pair.y;
                }
            }
        }
    }
}
