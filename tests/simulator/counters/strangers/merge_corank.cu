// merge_corank.cu -- two sorted lists merged: each thread finds its part by co-ranks
__device__ int co_rank(int k, const int* A, int m, const int* B, int n)
{
    int i = k < m ? k : m, j = k - i, i_low = k - n > 0 ? k - n : 0, j_low = k - m > 0 ? k - m : 0;
    while (true) {
        if (i > 0 && j < n && A[i - 1] > B[j]) {
            const int delta = (i - i_low + 1) / 2;
            j_low = j;
            j += delta;
            i -= delta;
        } else if (j > 0 && i < m && B[j - 1] >= A[i]) {
            const int delta = (j - j_low + 1) / 2;
            i_low = i;
            i += delta;
            j -= delta;
        } else {
            return i;
        }
    }
}
extern "C" __global__ void merge_corank(int* C, const int* A, int m, const int* B, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const int each = (m + n + threads - 1) / threads;
    const int first = min(t * each, m + n), last = min(first + each, m + n);
    int i = co_rank(first, A, m, B, n), j = first - i;
    const int i_end = co_rank(last, A, m, B, n), j_end = last - i_end;
    int k = first;
    while (i < i_end && j < j_end) C[k++] = A[i] <= B[j] ? A[i++] : B[j++];
    while (i < i_end) C[k++] = A[i++];
    while (j < j_end) C[k++] = B[j++];
}
