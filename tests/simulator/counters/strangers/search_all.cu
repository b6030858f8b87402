// search_all.cu -- every place of a word in a text, collected by an atomic counter
__constant__ char pattern[8];
extern "C" __global__ void search_all(const char* text, int n, int length, int* found, int* places)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - length) return;
    int k = 0;
    while (k < length && text[i + k] == pattern[k]) ++k;
    if (k == length) places[atomicAdd(found, 1)] = i;
}
