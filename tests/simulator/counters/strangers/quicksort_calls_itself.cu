// quicksort_calls_itself.cu -- each thread sorts its own row by recursion
__device__ void quicksort(int* a, int low, int high)
{
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
    quicksort(a, low, j);
    quicksort(a, i, high);
}

extern "C" __global__ void quicksort_calls_itself(int* rows, int length, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) quicksort(rows + t * length, 0, length - 1);
}
