mine = r"""
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (float* p = P; p < P + n; ++p) *p = 0.0f;
    for (long long j = 0; j < width; ++j) {
        const long long left = width / 2 - j;      // the cell under output i is i - left
        const long long count = n - (left > 0 ? left : -left);
        const float* cell = left > 0 ? N : N - left;
        float* output = left > 0 ? P + left : P;
        for (long long k = 0; k < count; ++k) output[k] += cell[k] * filter[j];
    }
}
"""
