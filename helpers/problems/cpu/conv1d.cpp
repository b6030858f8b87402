// conv1d.cpp -- 1D convolution on the CPU: the baselines that speedups are measured against.
//
// Computes   P[i] = sum_j N[i - R + j] * filter[j], cells outside N count as 0   (cross-correlation)
// Arrays     N, P: float32, shape (n,); filter: float32, shape (width,), width odd; R = width / 2. P must not alias.
// Checked    by helpers.problems.baselines against its float64 oracle before any of these is timed.

#include <algorithm>
#ifdef _OPENMP
#include <omp.h>
#endif

using Index = long long;  // n may be more than 2^31 - 1
static int cores = 1;

// One output. UNROLL taps of the inner loop at a time, each with its own partial sum, so that an addition need not wait
// for the one before it. UNROLL = 1 is the plain loop.
template <int UNROLL>
inline float output(const float* N, const float* filter, Index n, Index width, Index i) {
    const Index left = i - width / 2;                         // the cell of N under filter[0]; may be negative
    const Index first = std::max<Index>(0, -left);            // taps [first, last) lie inside N:
    const Index last = std::min<Index>(width, n - left);      // the others would multiply a 0
    float sum[UNROLL] = {};
    Index j = first;
    for (; j + UNROLL <= last; j += UNROLL) {
        for (int u = 0; u < UNROLL; ++u) sum[u] += N[left + j + u] * filter[j + u];
    }
    for (; j < last; ++j) sum[0] += N[left + j] * filter[j];  // the tail: fewer than UNROLL taps are left
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

template <int UNROLL>
void one_core(float* P, const float* N, const float* filter, Index n, Index width) {
    for (Index i = 0; i < n; ++i) P[i] = output<UNROLL>(N, filter, n, width, i);
}

// The same sums with the loops swapped: one tap at a time over a stretch of neighbouring outputs. No addition of the
// inner loop waits for another one, so the compiler computes 8 or 16 of them per instruction.
constexpr Index STRETCH = 2048;  // its part of P and of N together fit into the first-level cache

inline void outputs(float* P, const float* N, const float* filter, Index n, Index width, Index begin) {
    const Index end = std::min(n, begin + STRETCH);
    std::fill(P + begin, P + end, 0.0f);
    for (Index j = 0; j < width; ++j) {
        const Index shift = j - width / 2;
        const Index first = std::max(begin, -shift);  // outputs [first, last) have a cell of N under filter[j]
        const Index last = std::min(end, n - shift);
        for (Index i = first; i < last; ++i) P[i] += N[i + shift] * filter[j];
    }
}

extern "C" {

void conv1d_one_core(float* P, const float* N, const float* filter, Index n, Index width) {
    one_core<1>(P, N, filter, n, width);
}

void conv1d_unrolled_2(float* P, const float* N, const float* filter, Index n, Index width) {
    one_core<2>(P, N, filter, n, width);
}

void conv1d_unrolled_4(float* P, const float* N, const float* filter, Index n, Index width) {
    one_core<4>(P, N, filter, n, width);
}

void conv1d_unrolled_8(float* P, const float* N, const float* filter, Index n, Index width) {
    one_core<8>(P, N, filter, n, width);
}

void conv1d_swapped(float* P, const float* N, const float* filter, Index n, Index width) {
    for (Index begin = 0; begin < n; begin += STRETCH) outputs(P, N, filter, n, width, begin);
}

// Stretches are independent, so each core takes its share of them. Without OpenMP the pragma is not there: one core.
void conv1d_all_cores(float* P, const float* N, const float* filter, Index n, Index width) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(cores)
#endif
    for (Index begin = 0; begin < n; begin += STRETCH) outputs(P, N, filter, n, width, begin);
}

// Sets how many cores conv1d_all_cores uses: at most `usable`, and at most what OMP_NUM_THREADS allows. Returns it.
int use_cores(int usable) {
#ifdef _OPENMP
    cores = std::min(usable, omp_get_max_threads());
#endif
    return cores;
}

}  // extern "C"
