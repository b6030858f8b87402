mine = r"""
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = 0; i < n; ++i) P[i] = N[i] * filter[width / 2];
    for (long long away = 1; away <= width / 2; ++away) {
        const float before = filter[width / 2 - away];
        for (long long i = away; i < n; ++i) P[i] += N[i - away] * before;
        if (width / 2 + away < width) {
            const float behind = filter[width / 2 + away];
            for (long long i = 0; i < n - away; ++i) P[i] += N[i + away] * behind;
        }
    }
}
"""
