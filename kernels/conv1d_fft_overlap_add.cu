// conv1d_fft_overlap_add.cu -- 1D convolution by Fourier transforms of segments, tails added
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0 (cross-correlation),
//            R = width / 2
// Idea       A segment is FFT_SIZE - width + 1 cells, and zeros behind them: the segment's tail has
//            room in FFT_SIZE points and does not wrap around. The filter is real, so that two
//            segments travel in one complex transform, one as the real and one as the imaginary
//            part. A thread keeps 2^STAGES cells in registers for STAGES radix-2 stages, which is
//            one pass.
// Arrays     P, N: float32, shape (n,); P holds zeros before each launch. spectrum: float2,
//            (1, FFT_SIZE), by fft_radix2 of filter / FFT_SIZE, backwards, filled up with zeros.
//            twiddles: float2, (FFT_SIZE / 2,). None may alias.
// Launch     block = (min(FFT_SIZE / 2^STAGES, 1,024), 1, 1);
//            grid = (ceil(n / (2 * (FFT_SIZE - width + 1))), 1)
// Sizes      1 <= n <= 2,000,000,000. width odd, 2 * (width - 1) <= FFT_SIZE (see the last step).
// Memory     shared: (FFT_SIZE + FFT_SIZE / 16) * 8 bytes, dynamic.
// Constants  LOG_SIZE, STAGES (1 to LOG_SIZE) by -D (defaults below). FFT_SIZE = 2^LOG_SIZE.
// Reference  helpers.reference.conv1d; tolerance helpers.problems.fft_conv1d.conv1d_atol

#ifndef LOG_SIZE
#define LOG_SIZE 10
#endif
#ifndef STAGES
#define STAGES 3
#endif
#define FFT_SIZE (1 << LOG_SIZE)
#define THREADS (FFT_SIZE >> STAGES < 1024 ? FFT_SIZE >> STAGES : 1024)
// The stages of the pass with the shortest spans: what is left when the others have STAGES each.
#define REST (LOG_SIZE % STAGES ? LOG_SIZE % STAGES : STAGES)
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

// S stages, with spans from low << (S - 1) down to low (FORWARD) or up (inverse). A thread takes
// groups of 2^S cells that lie `low` apart.
template <int S, bool FORWARD>
__device__ void pass(float2* cells, const float2* twiddles, int low)
{
    for (int group = threadIdx.x; group < FFT_SIZE >> S; group += THREADS) {
        const int place = group & (low - 1);               // [0, low)
        const int first = ((group - place) << S) + place;

        // Load the group into registers.
        float2 v[1 << S];
        for (int k = 0; k < 1 << S; ++k) {
            v[k] = cells[AT(first + k * low)];
        }

        // Compute: in each stage pairs of registers k and k + half, whose cells are half * low
        // apart.
        #pragma unroll
        for (int s = 0; s < S; ++s) {
            const int half = FORWARD ? 1 << (S - 1 - s) : 1 << s;
            for (int j = 0; j < 1 << (S - 1); ++j) {
                const int k = (j & -half) + j;             // every register whose bit `half` is 0
                const int turn = (j & (half - 1)) * low + place;
                const float2 w = twiddles[turn * (FFT_SIZE / 2 / (half * low))];
                // Forward, the difference is turned after the stage; the inverse turns it back
                // before.
                const float2 a = v[k];
                const float2 b = FORWARD ? v[k + half] : times(v[k + half], conjugate(w));
                v[k] = plus(a, b);
                v[k + half] = FORWARD ? times(minus(a, b), w) : minus(a, b);
            }
        }

        // Store the group where it was.
        for (int k = 0; k < 1 << S; ++k) {
            cells[AT(first + k * low)] = v[k];
        }
    }
    __syncthreads();   // the next pass groups other threads' cells
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv1d_fft_overlap_add(
    float* P, const float* N, const float2* spectrum, const float2* twiddles, int n, int width)
{
    extern __shared__ float2 cells[];
    const int segment = FFT_SIZE - width + 1;     // cells of N in a segment
    const int start = blockIdx.x * 2 * segment;   // the first cell of the block's two segments

    // Load: the first segment as real parts, the second one as imaginary parts, and zeros behind
    // them.
    for (int i = threadIdx.x; i < FFT_SIZE; i += THREADS) {
        const int a = start + i;
        const int b = a + segment;
        const float real = i < segment && a < n ? N[a] : 0.0f;
        const float imaginary = i < segment && b < n ? N[b] : 0.0f;
        cells[AT(i)] = make_float2(real, imaginary);
    }
    __syncthreads();   // a pass groups cells that other threads loaded

    // Compute: to frequencies, in bit-reversed order; times the filter's; and back.
    #pragma unroll   // so that nvcc knows the spans
    for (int low = LOG_SIZE - STAGES; low >= REST; low -= STAGES) {
        pass<STAGES, true>(cells, twiddles, 1 << low);
    }
    pass<REST, true>(cells, twiddles, 1);
    for (int i = threadIdx.x; i < FFT_SIZE; i += THREADS) {
        cells[AT(i)] = times(cells[AT(i)], spectrum[i]);
    }
    __syncthreads();   // a pass groups cells that other threads multiplied
    pass<REST, false>(cells, twiddles, 1);
    #pragma unroll
    for (int low = REST; low < LOG_SIZE; low += STAGES) {
        pass<STAGES, false>(cells, twiddles, 1 << low);
    }

    // Add and store. The first segment's tail, width - 1 cells, lies on the second one's head. The
    // head and the tail of both are shared with the neighbouring blocks. These add to 0, in either
    // order the same: 0 + a + b is 0 + b + a.
    for (int i = threadIdx.x; i < 2 * segment + width - 1; i += THREADS) {
        const float real = i < FFT_SIZE ? cells[AT(i)].x : 0.0f;
        const float imaginary = i >= segment ? cells[AT(i - segment)].y : 0.0f;
        const float sum = real + imaginary;
        const int out = start + i - width / 2;
        if (out < 0 || out >= n) continue;   // no barrier below
        if (i < width - 1 || i >= 2 * segment) {
            atomicAdd(P + out, sum);
        } else {
            P[out] = sum;
        }
    }
}
