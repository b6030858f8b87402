// copy_in_flight.cu -- a copy in which each thread has a chosen number of loads under way
//
// Computes   out[i] = in[i]
// Idea       A thread starts LOADS loads, one behind the other, and waits only when it stores the
//            first value. While it waits, all its loads are in flight. The number of warps on a
//            multiprocessor and LOADS together say how many bytes are on their way at a time.
// Arrays     out, in: float32, shape (n,). As far as the compiler knows they may overlap: no
//            __restrict__, on purpose. It keeps nvcc from starting the loads of the next round
//            before the stores of this one, so that no more than LOADS are in flight.
// Launch     block = (THREADS, 1, 1); grid = (blocks, 1), any number: they walk over the array
//            together. With (blocks on a multiprocessor) x (multiprocessors) of them, all are
//            resident at once.
// Sizes      1 <= n <= 1,000,000,000 (indices are int, and one round past the end must fit)
// Memory     no shared, no constant.
// Constants  THREADS, LOADS by -D (defaults below).
// Reference  the array itself

#ifndef THREADS
#define THREADS 64
#endif
#ifndef LOADS
#define LOADS 4
#endif

extern "C" __global__ void copy_in_flight(float* out, const float* in, int n)
{
    // One round of the whole grid copies this many cells. Neighbouring lanes copy neighbours.
    const int round = gridDim.x * THREADS * LOADS;

    for (int first = blockIdx.x * THREADS * LOADS + threadIdx.x; first < n; first += round) {
        // Load. Nothing here needs a value, so the loads follow each other without waiting.
        float value[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            value[k] = i < n ? in[i] : 0.0f;
        }

        // Store. The first store waits for the first load; by then all of them are under way.
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            if (i < n) {
                out[i] = value[k];
            }
        }
    }
}
