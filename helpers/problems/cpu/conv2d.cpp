// conv2d.cpp -- a convolution layer on the CPU: the baselines that GPU times are set beside.
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q]; valid, not flipped (cross-correlation)
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); y: float32, shape (B, M, out_h, out_w)
//            with out_h = H - K + 1 and out_w = W - K + 1; all C-contiguous; y must not alias the others.
// Checked    by helpers.problems.baselines, against helpers.reference.conv2d, before a baseline is handed out.

#include <algorithm>
#include <cstring>
#ifdef _OPENMP
#include <omp.h>
#endif

using Index = long long;  // 10,000 images of a layer hold hundreds of millions of cells
static int cores = 1;

struct Layer {
    Index B, C, M, H, W, K;
    Index out_h() const { return H - K + 1; }
    Index out_w() const { return W - K + 1; }
};

// The formula as it is written: one output after the other, one multiply-add after the other.
static float output(const float* image, const float* weights, const Layer& s, Index h, Index w) {
    float sum = 0.0f;
    for (Index c = 0; c < s.C; ++c)
        for (Index p = 0; p < s.K; ++p)
            for (Index q = 0; q < s.K; ++q)
                sum += image[(c * s.H + h + p) * s.W + w + q] * weights[(c * s.K + p) * s.K + q];
    return sum;
}

// The same sums with the loops swapped: one tap at a time over STRETCH neighbouring outputs of MAPS output maps. No
// addition of the inner loop waits for another one, the sums stay in vector registers, and cells that were loaded
// serve every output map.
constexpr Index STRETCH = 16;
typedef float Cells __attribute__((vector_size(4 * STRETCH)));  // GCC and Clang: STRETCH floats, added by one `+`

template <int MAPS>
static void outputs(float* y, const float* cells, const float* weights, const Layer& s) {
    const Index taps = s.C * s.K * s.K, plane = s.out_h() * s.out_w();
    Cells sum[MAPS] = {};
    for (Index c = 0; c < s.C; ++c)
        for (Index p = 0; p < s.K; ++p)
            for (Index q = 0; q < s.K; ++q) {
                Cells from;  // memcpy: an unaligned vector load
                std::memcpy(&from, cells + (c * s.H + p) * s.W + q, sizeof from);
                const float* tap = weights + (c * s.K + p) * s.K + q;
                for (int m = 0; m < MAPS; ++m) sum[m] += from * tap[m * taps];
            }
    for (int m = 0; m < MAPS; ++m) std::memcpy(y + m * plane, &sum[m], sizeof sum[m]);
}

// All outputs of MAPS output maps of an image whose rows have STRETCH outputs or more.
template <int MAPS>
static void rows(float* y, const float* image, const float* weights, const Layer& s) {
    const Index wide = s.out_w();
    for (Index h = 0; h < s.out_h(); ++h) {
        for (Index begin = 0; begin < wide; begin += STRETCH) {
            // The last stretch moves left until it is whole, and makes some outputs twice: cheaper than one by one.
            const Index w = std::min(begin, wide - STRETCH);
            outputs<MAPS>(y + h * wide + w, image + h * s.W + w, weights, s);
        }
    }
}

static void plain(float* y, const float* x, const float* filter, const Layer& s, Index b) {
    y += b * s.M * s.out_h() * s.out_w();
    for (Index m = 0; m < s.M; ++m)
        for (Index h = 0; h < s.out_h(); ++h)
            for (Index w = 0; w < s.out_w(); ++w)
                *y++ = output(x + b * s.C * s.H * s.W, filter + m * s.C * s.K * s.K, s, h, w);
}

static void swapped(float* y, const float* x, const float* filter, const Layer& s, Index b) {
    if (s.out_w() < STRETCH) return plain(y, x, filter, s, b);
    const Index plane = s.out_h() * s.out_w(), taps = s.C * s.K * s.K;
    const float* image = x + b * s.C * s.H * s.W;
    Index m = 0;
    for (; m + 4 <= s.M; m += 4) rows<4>(y + (b * s.M + m) * plane, image, filter + m * taps, s);
    for (; m < s.M; ++m) rows<1>(y + (b * s.M + m) * plane, image, filter + m * taps, s);
}

extern "C" {

void conv2d_one_core(float* y, const float* x, const float* filter,
                     Index B, Index C, Index M, Index H, Index W, Index K) {
    const Layer s{B, C, M, H, W, K};
    for (Index b = 0; b < B; ++b) plain(y, x, filter, s, b);
}

void conv2d_swapped(float* y, const float* x, const float* filter,
                    Index B, Index C, Index M, Index H, Index W, Index K) {
    const Layer s{B, C, M, H, W, K};
    for (Index b = 0; b < B; ++b) swapped(y, x, filter, s, b);
}

// Images are independent, so each core takes its share of them. Without OpenMP the pragma is not there: one core.
void conv2d_all_cores(float* y, const float* x, const float* filter,
                      Index B, Index C, Index M, Index H, Index W, Index K) {
    const Layer s{B, C, M, H, W, K};
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(cores)
#endif
    for (Index b = 0; b < B; ++b) swapped(y, x, filter, s, b);
}

// Sets how many cores conv2d_all_cores uses: at most `usable`, and at most what OMP_NUM_THREADS allows. Returns it.
int use_cores(int usable) {
#ifdef _OPENMP
    cores = std::min(usable, omp_get_max_threads());
#endif
    return cores;
}

}  // extern "C"
