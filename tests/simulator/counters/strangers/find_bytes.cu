// find_bytes.cu -- where a pattern of bytes is in a text; most comparisons end at once
__constant__ char pattern[16];

extern "C" __global__ void find_bytes(int* first, int* hits, const char* text, int n, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - length) return;
    int k = 0;
    while (k < length && text[i + k] == pattern[k]) k++;
    if (k == length) {
        atomicMin(first, i);
        atomicAdd(hits, 1);
    }
}
