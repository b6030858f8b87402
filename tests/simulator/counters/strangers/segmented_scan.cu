// segmented_scan.cu -- a scan that begins anew at each flag
#define N 128
extern "C" __global__ void segmented_scan(const int *flag, const int *x, int *y, int n)
{
    __shared__ int v[N];
    __shared__ int f[N];
    int t = threadIdx.x;
    int i = blockIdx.x * N + t;
    v[t] = i < n ? x[i] : 0;
    f[t] = (t == 0) || (i < n && flag[i]);
    __syncthreads();
    for (int d = 1; d < N; d <<= 1) {
        int nv = v[t], nf = f[t];
        if (t >= d && !nf) {
            nv += v[t - d];
            nf |= f[t - d];
        }
        __syncthreads();
        v[t] = nv;
        f[t] = nf;
        __syncthreads();
    }
    if (i < n) y[i] = v[t];
}
