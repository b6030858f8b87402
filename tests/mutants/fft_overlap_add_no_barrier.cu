// fft_overlap_add_no_barrier.cu -- WRONG ON PURPOSE: no barrier after the product of the spectra
//
// Mutant of  conv1d_fft_overlap_add (lab 20)
// Wrong      the inverse reads cells that other threads may not have multiplied yet.
// Message    simulator: race, array cells

#ifndef LOG_SIZE
#define LOG_SIZE 10
#endif
#ifndef STAGES
#define STAGES 3
#endif
#define FFT_SIZE (1 << LOG_SIZE)
#define THREADS (FFT_SIZE >> STAGES < 1024 ? FFT_SIZE >> STAGES : 1024)
#define REST (LOG_SIZE % STAGES ? LOG_SIZE % STAGES : STAGES)   // stages of the pass with the shortest spans
#define AT(i) ((i) + (i) / 16)
__device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

template <int S, bool FORWARD> __device__ void pass(float2* cells, const float2* twiddles, int low)
{
    for (int g = threadIdx.x; g < FFT_SIZE >> S; g += THREADS) {
        const int place = g & (low - 1), first = ((g - place) << S) + place;
        float2 v[1 << S];
        for (int k = 0; k < 1 << S; ++k) v[k] = cells[AT(first + k * low)];
        #pragma unroll
        for (int s = 0; s < S; ++s) {
            const int half = FORWARD ? 1 << (S - 1 - s) : 1 << s;   // of the registers; the span is half * low
            for (int j = 0; j < 1 << (S - 1); ++j) {
                const int k = (j & -half) + j, turn = (j & (half - 1)) * low + place;   // bit `half` of k is 0
                const float2 w = twiddles[turn * (FFT_SIZE / 2 / (half * low))];
                const float2 a = v[k], b = FORWARD ? v[k + half] : times(v[k + half], make_float2(w.x, -w.y));
                v[k] = make_float2(a.x + b.x, a.y + b.y);
                v[k + half] = make_float2(a.x - b.x, a.y - b.y);
                if (FORWARD) v[k + half] = times(v[k + half], w);   // the inverse has turned it back above
            }
        }
        for (int k = 0; k < 1 << S; ++k) cells[AT(first + k * low)] = v[k];
    }
    __syncthreads();   // the next pass groups other threads' cells
}

extern "C" __global__ void __launch_bounds__(THREADS)
fft_overlap_add_no_barrier(float* P, const float* N, const float2* spectrum, const float2* twiddles, int n, int width)
{
    extern __shared__ float2 cells[];
    const int segment = FFT_SIZE - width + 1, start = blockIdx.x * 2 * segment;

    // Load.
    for (int i = threadIdx.x; i < FFT_SIZE; i += THREADS) {
        const int a = start + i, b = a + segment;
        cells[AT(i)] = make_float2(i < segment && a < n ? N[a] : 0.0f, i < segment && b < n ? N[b] : 0.0f);
    }
    __syncthreads();

    // Compute: to frequencies, in bit-reversed order, times the filter's, and back.
    #pragma unroll   // so that the spans are known to the compiler
    for (int low = LOG_SIZE - STAGES; low >= REST; low -= STAGES) pass<STAGES, true>(cells, twiddles, 1 << low);
    pass<REST, true>(cells, twiddles, 1);
    for (int i = threadIdx.x; i < FFT_SIZE; i += THREADS) cells[AT(i)] = times(cells[AT(i)], spectrum[i]);
    pass<REST, false>(cells, twiddles, 1);
    #pragma unroll
    for (int low = REST; low < LOG_SIZE; low += STAGES) pass<STAGES, false>(cells, twiddles, 1 << low);

    // Add and store. What two blocks add up, they add to 0, in either order: 0 + a + b is 0 + b + a.
    for (int i = threadIdx.x; i < 2 * segment + width - 1; i += THREADS) {
        const float sum = (i < FFT_SIZE ? cells[AT(i)].x : 0.0f) + (i >= segment ? cells[AT(i - segment)].y : 0.0f);
        const int out = start + i - width / 2;
        if (out < 0 || out >= n) continue;
        if (i < width - 1 || i >= 2 * segment) atomicAdd(P + out, sum); else P[out] = sum;
    }
}
