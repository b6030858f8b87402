// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    __shared__ float totals[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
    float sum = i < n ? N[i] : 0.0f;
    for (int far = 1; far < 32; far *= 2) {
        const float left = __shfl_up_sync(0xffffffff, sum, far);
        if (lane >= far) sum += left;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; ++w) sum += totals[w];
    if (i < n) P[i] = sum;
}
