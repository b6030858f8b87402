// tridiagonal_pcr.cu -- tridiagonal systems by parallel cyclic reduction
#define N 32
extern "C" __global__ void tridiagonal_pcr(float* x, const float* lower, const float* diagonal,
                                           const float* upper, const float* right)
{
    __shared__ float l[N], d[N], u[N], r[N];
    const int i = threadIdx.x, g = blockIdx.x * N + i;
    l[i] = i > 0 ? lower[g] : 0;
    d[i] = diagonal[g];
    u[i] = i < N - 1 ? upper[g] : 0;
    r[i] = right[g];
    for (int s = 1; s < N; s *= 2) {
        __syncthreads();
        float nl = 0, nu = 0, nd = d[i], nr = r[i];
        if (i >= s) {
            const float k = l[i] / d[i - s];
            nl = -k * l[i - s];
            nd -= k * u[i - s];
            nr -= k * r[i - s];
        }
        if (i + s < N) {
            const float k = u[i] / d[i + s];
            nu = -k * u[i + s];
            nd -= k * l[i + s];
            nr -= k * r[i + s];
        }
        __syncthreads();
        l[i] = nl, d[i] = nd, u[i] = nu, r[i] = nr;
    }
    x[g] = r[i] / d[i];
}
