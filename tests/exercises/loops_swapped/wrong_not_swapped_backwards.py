mine = r"""
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = n - 1; i >= 0; --i) {
        float sum = 0;
        for (long long j = 0; j < width; ++j) {
            const long long cell = i + j - width / 2;
            if (cell >= 0 && cell < n) sum += N[cell] * filter[j];
        }
        P[i] = sum;
    }
}
"""
