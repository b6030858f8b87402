// %%kernel block_max
__global__ void block_max(float* P, const float* N, int n)
{
    // P[b] is the largest of the 256 numbers of block b (fewer in the last block).
    // Blocks of 256 threads. Halve the number of candidates in each step.
}
