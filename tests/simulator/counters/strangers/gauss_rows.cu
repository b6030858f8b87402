// gauss_rows.cu -- elimination with the largest pivot, a block for each system, a thread for each
// row
extern "C" __global__ void gauss_rows(double* x, const double* systems, int n)
{
    extern __shared__ double a[];
    __shared__ int pivot;
    const int t = threadIdx.x, ld = n + 1;
    const double* mine = systems + blockIdx.x * n * ld;
    for (int i = t; i < n * ld; i += blockDim.x) a[i] = mine[i];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (t == 0) {
            int best = k;
            for (int r = k + 1; r < n; ++r)
                if (fabs(a[r * ld + k]) > fabs(a[best * ld + k])) best = r;
            pivot = best;
        }
        __syncthreads();
        if (pivot != k)
            for (int c = t; c < ld; c += blockDim.x) {
                const double held = a[k * ld + c];
                a[k * ld + c] = a[pivot * ld + c];
                a[pivot * ld + c] = held;
            }
        __syncthreads();
        if (t < n && t != k) {
            const double factor = a[t * ld + k] / a[k * ld + k];
            for (int c = k; c < ld; ++c) a[t * ld + c] -= factor * a[k * ld + c];
        }
        __syncthreads();
    }
    if (t < n) x[blockIdx.x * n + t] = a[t * ld + n] / a[t * ld + t];
}
