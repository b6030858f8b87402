// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    // P[i] = N[i] minus the smallest number of the warp that thread i belongs to.
    // No shared memory: the lanes of a warp hand each other registers.
}
