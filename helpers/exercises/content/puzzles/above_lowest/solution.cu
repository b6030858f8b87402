// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    //> P[i] = N[i] minus the smallest number of the warp that thread i belongs to.
    //> No shared memory: the lanes of a warp hand each other registers.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float mine = i < n ? N[i] : INFINITY;
    float lowest = mine;
    for (int far = 16; far > 0; far /= 2)
        lowest = fminf(lowest, __shfl_xor_sync(0xffffffff, lowest, far));
    if (i < n) P[i] = mine - lowest;
    //<
}
