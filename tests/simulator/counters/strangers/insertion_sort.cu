// insertion_sort.cu -- each thread sorts its row in a local array that is indexed by variables
extern "C" __global__ void insertion_sort(float* rows, int width, int count)
{
    float a[24];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    for (int k = 0; k < width; k++) a[k] = rows[row * width + k];
    for (int k = 1; k < width; k++) {
        float v = a[k];
        int j = k - 1;
        while (j >= 0 && a[j] > v) {
            a[j + 1] = a[j];
            j--;
        }
        a[j + 1] = v;
    }
    for (int k = 0; k < width; k++) rows[row * width + k] = a[k];
}
