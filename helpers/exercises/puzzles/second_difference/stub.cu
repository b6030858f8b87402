// %%kernel second_difference
__global__ void second_difference(float* P, const float* N, int n)
{
    // P[i] = N[i - 1] - 2 * N[i] + N[i + 1]; cells outside N count as 0.
    // Blocks of 128 threads. Each block reads each cell that it needs once.
}
