// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float mine = N[min(i, n - 1)];    // a lane too many repeats the last number
    float lowest = mine;
    for (int far = 1; far < 32; far *= 2) {
        const float other = __shfl_down_sync(0xffffffff, lowest, far);
        if (other < lowest) lowest = other;
    }
    lowest = __shfl_sync(0xffffffff, lowest, 0);    // lane 0 has the result: give it to all
    if (i < n) P[i] = mine - lowest;
}
