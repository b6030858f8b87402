// order.cu -- two recursions in which each lane writes down when it comes to a place
struct Diary {
    uint2* lines;    // of this lane: the clock, and place + 256 * depth
    int* written;    // in shared memory: how many
};

__device__ __forceinline__ void note(Diary diary, int place, int depth)
{
    unsigned clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock) :: "memory");
    const int at = *diary.written;
    *diary.written = at + 1;
    diary.lines[at] = make_uint2(clock, place + 256 * depth);
}

__device__ int tree(Diary diary, unsigned value, int depth)
{
    note(diary, 0, depth);
    int count = 1;
    if (depth < 6 && value * 2654435761u >> 29 > 2) {
        count += tree(diary, value * 1664525u + 1013904223u, depth + 1);
        note(diary, 1, depth);
        count += tree(diary, value * 22695477u + 1u, depth + 1);
    }
    note(diary, 2, depth);
    return count;
}

extern "C" __global__ void grow_trees(int* counts, uint2* lines, int most, int seed, int n)
{
    __shared__ int written[32];
    const int t = threadIdx.x;
    written[t] = 0;
    const Diary diary = {lines + t * most, written + t};
    if (t < n) counts[t] = tree(diary, t * 2654435761u ^ seed, 0);
}

__device__ void quicksort(Diary diary, int* a, int low, int high, int depth)
{
    note(diary, 0, depth);
    if (low >= high) return;
    const int pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) ++i;
        while (a[j] > pivot) --j;
        if (i <= j) {
            const int held = a[i];
            a[i++] = a[j];
            a[j--] = held;
        }
    }
    note(diary, 1, depth);
    quicksort(diary, a, low, j, depth + 1);
    quicksort(diary, a, i, high, depth + 1);
}

extern "C" __global__ void sort_rows(int* rows, uint2* lines, int most, int length, int n)
{
    __shared__ int written[32];
    const int t = threadIdx.x;
    written[t] = 0;
    const Diary diary = {lines + t * most, written + t};
    if (t < n) quicksort(diary, rows + t * length, 0, length - 1, 0);
}
