// spills.cu -- 96 sums at once in few registers: the rest goes to local memory
#define N 96
extern "C" __global__ void __launch_bounds__(1024, 2)
    spills(float* y, const float* x, int n, int rounds)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float acc[N];
#pragma unroll
    for (int k = 0; k < N; k++) acc[k] = x[(t + k) % n];
    for (int r = 0; r < rounds; r++) {
        float v = x[(t * 7 + r) % n];
#pragma unroll
        for (int k = 0; k < N; k++) acc[k] = acc[k] * 0.5f + v * acc[(k + 1) % N];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < N; k++) sum += acc[k];
    if (t < n) y[t] = sum;
}
