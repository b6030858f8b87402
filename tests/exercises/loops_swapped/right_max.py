mine = r"""
#include <algorithm>
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    std::fill(P, P + n, 0.0f);
    for (long long j = 0; j < width; ++j) {
        const long long shift = j - width / 2;
        const float weight = filter[j];
        for (long long i = std::max(0LL, -shift); i < std::min(n, n - shift); ++i) {
            P[i] += N[i + shift] * weight;
        }
    }
}
"""
