// early_returns.cu -- a function with many ways out, called in a loop over neighbours
__device__ int classify(const float* p, int stride, float limit, float* value)
{
    float a = p[0];
    if (a != a) return -1;
    if (a > limit) {
        *value = a;
        return 1;
    }
    float b = p[stride];
    if (a + b > limit) {
        *value = a + b;
        return 2;
    }
    float c = p[2 * stride];
    *value = a * b - c;
    if (*value < 0) return 3;
    return p[3 * stride] > c ? 4 : 5;
}

extern "C" __global__ void early_returns(int* kind, float* values, const float* x, int n,
                                         float limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
    float kept = 0;
    for (int k = 0; k < 4; k++) {
        float value = 0;
        int what = classify(x + i + k * n, 4 * n, limit, &value);
        if (what < 0) break;
        total = total * 6 + what;
        kept += value;
    }
    kind[i] = total;
    values[i] = kept;
}
