// queens.cu -- ways to place queens, counted by a function that calls itself
__device__ int place(int row, int n, unsigned columns, unsigned left, unsigned right)
{
    if (row == n) return 1;
    int count = 0;
    unsigned open = ~(columns | left | right) & ((1u << n) - 1);
    while (open) {
        const unsigned bit = open & (0u - open);
        open -= bit;
        count += place(row + 1, n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}
extern "C" __global__ void queens(int* total, int n)
{
    const int t = threadIdx.x;
    if (t < n) atomicAdd(total, place(1, n, 1u << t, 2u << t, (1u << t) >> 1));
}
