mine = r"""
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = 0; i < n; ++i) P[i] = 0;
    for (long long j = 0; j < width; ++j) {
        const long long shift = j - width / 2;
        //> Your turn: which outputs [first, last) have 0 <= i + shift < n? Add to those.
        const long long first = shift < 0 ? -shift : 0, last = shift > 0 ? n - shift : n;
        for (long long i = first; i < last; ++i) P[i] += N[i + shift] * filter[j];
        //<
    }
}
"""
