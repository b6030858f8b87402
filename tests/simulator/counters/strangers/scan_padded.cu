// scan_padded.cu -- Blelloch's scan of 2 x blockDim cells with an extra cell for each 32 against
// bank conflicts
#define LOG_BANKS 5
#define OFFSET(n) ((n) >> LOG_BANKS)

extern "C" __global__ void scan_padded(float* g_out, const float* g_in, int n)
{
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int ai = thid, bi = thid + n / 2;
    const float* in = g_in + blockIdx.x * n;
    temp[ai + OFFSET(ai)] = in[ai];
    temp[bi + OFFSET(bi)] = in[bi];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            a += OFFSET(a);
            b += OFFSET(b);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (thid == 0) temp[n - 1 + OFFSET(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            a += OFFSET(a);
            b += OFFSET(b);
            float t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    g_out[blockIdx.x * n + ai] = temp[ai + OFFSET(ai)];
    g_out[blockIdx.x * n + bi] = temp[bi + OFFSET(bi)];
}
