// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    // P[i] is the sum of N[i] and of all numbers before it in the same block.
    // Blocks of 256 threads. Eight steps: add what stands 1, 2, 4, ... 128 places to the left.
}
