// blelloch.cu -- exclusive prefix sums by Blelloch, padded against bank conflicts
#define LOG_BANKS 5
#define PAD(i) ((i) + ((i) >> LOG_BANKS))
extern "C" __global__ void blelloch(int* out, const int* in, int* sums)
{
    extern __shared__ int temp[];
    const int t = threadIdx.x, n = 2 * blockDim.x, first = blockIdx.x * n;
    temp[PAD(t)] = in[first + t];
    temp[PAD(t + n / 2)] = in[first + t + n / 2];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            const int ai = PAD(offset * (2 * t + 1) - 1), bi = PAD(offset * (2 * t + 2) - 1);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = temp[PAD(n - 1)];
        temp[PAD(n - 1)] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int ai = PAD(offset * (2 * t + 1) - 1), bi = PAD(offset * (2 * t + 2) - 1);
            const int held = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += held;
        }
    }
    __syncthreads();
    out[first + t] = temp[PAD(t)];
    out[first + t + n / 2] = temp[PAD(t + n / 2)];
}
