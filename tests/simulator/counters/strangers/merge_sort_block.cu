// merge_sort_block.cu -- each thread finds the place of its cell in the other run by bisection
extern "C" __global__ void merge_sort_block(int* keys)
{
    extern __shared__ int cells[];
    int* from = cells;
    int* to = cells + blockDim.x;
    const int t = threadIdx.x;
    from[t] = keys[blockIdx.x * blockDim.x + t];
    for (int run = 1; run < blockDim.x; run *= 2) {
        __syncthreads();
        const int pair = t / (2 * run) * 2 * run;
        const bool left = t < pair + run;
        const int other = left ? pair + run : pair, key = from[t];
        int low = 0, high = run;
        while (low < high) {
            const int middle = (low + high) / 2;
            const int there = from[other + middle];
            if (left ? there < key : there <= key) low = middle + 1;
            else high = middle;
        }
        to[pair + t % run + low] = key;
        int* held = from;
        from = to;
        to = held;
    }
    __syncthreads();
    keys[blockIdx.x * blockDim.x + t] = from[t];
}
