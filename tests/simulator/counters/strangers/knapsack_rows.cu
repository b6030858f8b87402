// knapsack_rows.cu -- a table of best values, a row after another, in two buffers
extern "C" __global__ void knapsack_rows(int* best, const int* weight, const int* value,
    int items, int capacity)
{
    extern __shared__ int table[];
    int* last = table;
    int* next = table + capacity + 1;
    for (int c = threadIdx.x; c <= capacity; c += blockDim.x) last[c] = 0;
    __syncthreads();
    for (int k = 0; k < items; ++k) {
        for (int c = threadIdx.x; c <= capacity; c += blockDim.x) {
            int v = last[c];
            if (c >= weight[k]) v = max(v, last[c - weight[k]] + value[k]);
            next[c] = v;
        }
        __syncthreads();
        int* held = last;
        last = next;
        next = held;
    }
    for (int c = threadIdx.x; c <= capacity; c += blockDim.x) best[c] = last[c];
}
