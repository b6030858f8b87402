// loops_left.cu -- shared loads in loops that lanes leave at different times
#ifndef FORM
#define FORM 0
#endif
extern "C" __global__ void loops_left(float* y, const float* x, const int* turns, int n)
{
    __shared__ float s[256];
    for (int j = threadIdx.x; j < 256; j += blockDim.x) s[j] = x[j];
    __syncthreads();
    const int t = turns[threadIdx.x];
    float sum = 0.0f;
#if FORM == 0   // a number of turns of each lane, from its own place
    for (int j = 0; j < t; ++j) sum += s[threadIdx.x + j];
#elif FORM == 1  // left by a value: two conditions
    for (int j = 0; j < n && sum < t; ++j) sum += s[j];
#elif FORM == 2  // a break in the middle, and two loads
    for (int j = 0; j < n; ++j) {
        if (s[threadIdx.x + j] > t) break;
        sum += s[128 + j];
    }
#elif FORM == 3  // a while that halves
    for (int j = t; j > 0; j >>= 1) sum += s[j];
#elif FORM == 4  // one turn at a time by the source
    #pragma unroll 1
    for (int j = 0; j < t; ++j) sum += s[threadIdx.x + j];
#elif FORM == 5  // two by the source
    #pragma unroll 2
    for (int j = 0; j < t; ++j) sum += s[threadIdx.x + j];
#elif FORM == 6  // triangular, as of a factorisation
    for (int j = t; j <= threadIdx.x; ++j) sum += s[j] * s[threadIdx.x + j];
#elif FORM == 7  // stores too
    for (int j = t; j <= threadIdx.x; ++j) s[threadIdx.x * 4 + j % 4] -= s[j] * 2.0f;
#elif FORM == 8  // nested: the inner one of each lane's own length
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < t + i; ++j) sum += s[i * 32 + j];
#endif
    y[threadIdx.x] = sum;
}
