// fft_radix2_twiddle_sign.cu -- WRONG ON PURPOSE: the twiddle factors turn the other way
//
// Mutant of  fft_radix2 (lab 20)
// Wrong      exp(+i) in place of exp(-i): the inverse transform, without its scale.
// Message    check: suspect (the twiddle factors turn the other way)

#ifndef FFT_SIZE
#define FFT_SIZE 1024
#endif
#ifndef ROW
#define ROW FFT_SIZE
#endif

extern "C" __global__ void fft_radix2_twiddle_sign(float2* X, const float2* x, const float2* twiddles)
{
    extern __shared__ float2 cells[];   // [0, FFT_SIZE)
    const size_t signal = (size_t)blockIdx.x * FFT_SIZE;

    // Load.
    for (int i = threadIdx.x; i < FFT_SIZE; i += blockDim.x) cells[i] = x[signal + i];

    // Compute. Thread t has a pair of its own in every stage: nobody else reads or writes these two cells before the
    // next barrier, so that a stage works in place and needs only one.
    for (int span = FFT_SIZE / 2; span > 0; span /= 2) {
        __syncthreads();   // the last stage's pairs are made of other threads' cells
        for (int t = threadIdx.x; t < FFT_SIZE / 2; t += blockDim.x) {
            const int place = t & (span - 1);        // of the pair in its group of 2 * span cells: [0, span)
            const int first = 2 * (t - place) + place;
            // Angle pi * place / span. Pairs of whole rows (span >= ROW) turn by the row's number alone.
            const int turn = span < ROW ? place * (ROW / 2 / span) : place / ROW * (ROW / 2) / (span / ROW);
            const float2 a = cells[first], b = cells[first + span], w = twiddles[turn];
            const float2 d = make_float2(a.x - b.x, a.y - b.y);
            cells[first] = make_float2(a.x + b.x, a.y + b.y);
            cells[first + span] = make_float2(d.x * w.x + d.y * w.y, d.y * w.x - d.x * w.y);
        }
    }
    __syncthreads();   // the store goes by cells, not by pairs

    // Store, in bit-reversed order, so that neighbouring lanes write neighbouring cells.
    for (int i = threadIdx.x; i < FFT_SIZE; i += blockDim.x) X[signal + i] = cells[i];
}
