// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    //> P[i] is the sum of N[i] and of all numbers before it in the same block.
    //> Blocks of 256 threads. Eight steps: add what is 1, 2, 4, ... 128 places to the left.
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    for (int far = 1; far < 256; far *= 2) {
        const float left = t >= far ? s[t - far] : 0.0f;
        __syncthreads();    // all have read before one writes
        s[t] += left;
        __syncthreads();    // all have written before one reads
    }
    if (i < n) P[i] = s[t];
    //<
}
