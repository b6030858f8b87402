// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    // Read from one array and write to the other one: one barrier a step.
    __shared__ float s[2][256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int from = 0;
    float sum = i < n ? N[i] : 0.0f;
    s[0][t] = sum;
    __syncthreads();
    for (int far = 1; far < 256; far *= 2) {
        if (t >= far) sum += s[from][t - far];
        from ^= 1;
        s[from][t] = sum;
        __syncthreads();
    }
    if (i < n) P[i] = sum;
}
