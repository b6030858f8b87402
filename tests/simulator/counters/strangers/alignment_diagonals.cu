// alignment_diagonals.cu -- Smith and Waterman's scores of two short texts, along diagonals
extern "C" __global__ void alignment_diagonals(int* most, const char* a, const char* b, int la,
    int lb)
{
    extern __shared__ short rows[];
    short* before = rows;
    short* last = rows + la + 1;
    short* now = rows + 2 * (la + 1);
    for (int i = threadIdx.x; i < 3 * (la + 1); i += blockDim.x) rows[i] = 0;
    __syncthreads();
    int best = 0;
    for (int d = 2; d <= la + lb; ++d) {
        for (int i = max(1, d - lb) + threadIdx.x; i <= min(la, d - 1); i += blockDim.x) {
            const int j = d - i;
            const int match = before[i - 1] + (a[i - 1] == b[blockIdx.x * lb + j - 1] ? 2 : -1);
            const int gap = max(last[i - 1], last[i]) - 1;
            const int score = max(0, max(match, gap));
            now[i] = score;
            best = max(best, score);
        }
        __syncthreads();
        short* held = before;
        before = last;
        last = now;
        now = held;
        if (threadIdx.x == 0) now[0] = 0;
        __syncthreads();
    }
    best = __reduce_max_sync(__activemask(), best);
    if (threadIdx.x % 32 == 0) atomicMax(&most[blockIdx.x], best);
}
