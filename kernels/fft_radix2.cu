// fft_radix2.cu -- Fourier transforms of many short signals, one per block, in shared memory
//
// Computes   X[s][i] = sum_k x[s][k] * W^(k f), W = exp(-2 pi sqrt(-1) / FFT_SIZE),
//            f = the bits of i in reverse order
// Idea       Decimation in frequency: a stage turns each pair of cells `span` apart into their sum
//            and their turned difference, in place; span is halved log2(FFT_SIZE) times. The
//            frequencies come out in bit-reversed order, and stay so: a product of two spectra does
//            not mind, and an inverse can start from that order. ROW < FFT_SIZE makes the transform
//            two-dimensional, FFT_SIZE / ROW rows: the same pairs, other twiddles.
// Arrays     X, x: float2, shape (signals, FFT_SIZE): real and imaginary parts. twiddles: float2,
//            shape (ROW / 2,), twiddles[k] = exp(-2 pi sqrt(-1) k / ROW). X may be x, the others
//            must not alias.
// Launch     block = (any, 1, 1), best FFT_SIZE / 2 or 1,024 threads; grid = (signals, 1)
// Sizes      FFT_SIZE a power of two, 2 to 8,192. ROW = FFT_SIZE (one row), or the rows are as many
//            as the columns.
// Memory     shared: FFT_SIZE * 8 bytes, dynamic.
// Constants  FFT_SIZE, ROW by -D.
// Reference  numpy.fft.fft or fft2 in float64, in the order of helpers.problems.fft.bit_reversed

#ifndef FFT_SIZE
#define FFT_SIZE 1024
#endif
#ifndef ROW
#define ROW FFT_SIZE
#endif

extern "C" __global__ void fft_radix2(float2* X, const float2* x, const float2* twiddles)
{
    extern __shared__ float2 cells[];   // [0, FFT_SIZE)
    const size_t signal = (size_t)blockIdx.x * FFT_SIZE;

    // Load.
    for (int i = threadIdx.x; i < FFT_SIZE; i += blockDim.x) {
        cells[i] = x[signal + i];
    }

    // Compute. Thread t has a pair of its own in every stage: nobody else reads or writes these two
    // cells before the next barrier, so that a stage works in place and needs only one.
    for (int span = FFT_SIZE / 2; span > 0; span /= 2) {
        __syncthreads();   // the last stage's pairs are made of other threads' cells
        for (int t = threadIdx.x; t < FFT_SIZE / 2; t += blockDim.x) {
            // The pair's place in its group of 2 * span cells: [0, span).
            const int place = t & (span - 1);
            const int first = 2 * (t - place) + place;
            // Angle pi * place / span. Pairs of whole rows (span >= ROW) turn by
            // the row's number alone.
            const int turn = span < ROW ? place * (ROW / 2 / span)
                                        : place / ROW * (ROW / 2) / (span / ROW);
            const float2 a = cells[first];
            const float2 b = cells[first + span];
            const float2 w = twiddles[turn];
            const float2 d = make_float2(a.x - b.x, a.y - b.y);
            cells[first] = make_float2(a.x + b.x, a.y + b.y);
            cells[first + span] = make_float2(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x);
        }
    }
    __syncthreads();   // the store goes by cells, not by pairs

    // Store, in bit-reversed order, so that neighbouring lanes write neighbouring cells.
    for (int i = threadIdx.x; i < FFT_SIZE; i += blockDim.x) {
        X[signal + i] = cells[i];
    }
}
