// The loops as they were: each output is summed up, with a test for each tap.
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = 0; i < n; ++i) {
        float sum = 0;
        for (long long j = 0; j < width; ++j) {
            const long long cell = i + j - width / 2;
            if (cell >= 0 && cell < n) sum += N[cell] * filter[j];
        }
        P[i] = sum;
    }
}
