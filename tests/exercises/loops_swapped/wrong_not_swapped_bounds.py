mine = r"""
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = 0; i < n; ++i) {
        const long long r = width / 2;
        const long long first = i < r ? r - i : 0, last = i + width - r > n ? n - i + r : width;
        float sum = 0;
        for (long long j = first; j < last; ++j) sum += N[i + j - r] * filter[j];
        P[i] = sum;
    }
}
"""
