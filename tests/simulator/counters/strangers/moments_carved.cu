// moments_carved.cu -- three arrays in the dynamic shared memory
extern "C" __global__ void moments_carved(const float *x, const unsigned char *mask, double *out, int n)
{
    extern __shared__ double pool[];
    double *sums = pool;
    float *stage = (float *)(sums + blockDim.x);
    unsigned char *m = (unsigned char *)(stage + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    stage[t] = i < n ? x[i] : 0.f;
    m[t] = i < n ? mask[i] : 0;
    __syncthreads();
    int r = blockDim.x - 1 - t;
    sums[t] = m[r] ? (double)stage[r] * stage[r] : 0.0;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d >>= 1) {
        if (t < d) sums[t] += sums[t + d];
        __syncthreads();
    }
    if (!t) out[blockIdx.x] = sums[0];
}
