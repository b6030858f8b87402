// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float mine = i < n ? N[i] : 0.0f;
    s[t] = mine;
    __syncthreads();
    // Up: the last cell of each group of 2, 4, 8 ... gets the sum of its group.
    for (int far = 1; far < 256; far *= 2) {
        const int last = 2 * far * (t + 1) - 1;
        if (last < 256) s[last] += s[last - far];
        __syncthreads();
    }
    if (t == 0) s[255] = 0.0f;
    __syncthreads();
    // Down: each group hands on the sum of all numbers before it.
    for (int far = 128; far > 0; far /= 2) {
        const int last = 2 * far * (t + 1) - 1;
        if (last < 256) {
            const float left = s[last - far];
            s[last - far] = s[last];
            s[last] += left;
        }
        __syncthreads();
    }
    if (i < n) P[i] = s[t] + mine;
}
