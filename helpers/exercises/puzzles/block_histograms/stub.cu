// %%kernel block_histograms
__global__ void block_histograms(int* P, const int* N, int n)
{
    // Block b counts how often each of the values 0 to 255 stands among its 1,024 cells,
    // N[1024 * b] to N[1024 * b + 1023] (fewer in the last block). The count of value v goes
    // to P[256 * b + v]. Blocks of 256 threads. Count in shared memory.
}
