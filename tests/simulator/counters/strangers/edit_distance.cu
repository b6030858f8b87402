// edit_distance.cu -- Levenshtein's distance along the diagonals of the table, three of them in
// shared memory
extern "C" __global__ void edit_distance(int* distance, const char* a, const char* b, int la,
                                         int lb)
{
    extern __shared__ int diagonal[];
    const int size = blockDim.x + 1;
    int *two = diagonal, *one = two + size, *now = one + size;
    const char* text = b + blockIdx.x * lb;
    int i = threadIdx.x;
    for (int d = 0; d <= la + lb; d++) {
        int j = d - i;
        if (i <= la && j >= 0 && j <= lb) {
            int v;
            if (i == 0)
                v = j;
            else if (j == 0)
                v = i;
            else
                v = min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != text[j - 1]));
            now[i] = v;
            if (d == la + lb) distance[blockIdx.x] = v;
        }
        __syncthreads();
        int* spare = two;
        two = one;
        one = now;
        now = spare;
    }
}
