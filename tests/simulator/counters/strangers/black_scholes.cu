// black_scholes.cu -- prices of options: expf, logf, erfcf
__device__ inline float normal_cdf(float d) { return 0.5f * erfcf(-d * 0.70710678118f); }

extern "C" __global__ void black_scholes(float* call, float* put, const float* S, const float* X,
                                         const float* T, float r, float v, int n)
{
    const int stride = gridDim.x * blockDim.x;
    for (int opt = blockIdx.x * blockDim.x + threadIdx.x; opt < n; opt += stride) {
        float sqrtT = sqrtf(T[opt]);
        float d1 = (logf(S[opt] / X[opt]) + (r + 0.5f * v * v) * T[opt]) / (v * sqrtT);
        float d2 = d1 - v * sqrtT;
        float expRT = expf(-r * T[opt]);
        call[opt] = S[opt] * normal_cdf(d1) - X[opt] * expRT * normal_cdf(d2);
        put[opt] = X[opt] * expRT * normal_cdf(-d2) - S[opt] * normal_cdf(-d1);
    }
}
