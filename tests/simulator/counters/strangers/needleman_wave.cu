// needleman_wave.cu -- global alignment of two texts, one anti-diagonal after another
extern "C" __global__ void needleman_wave(int* H, const char* s, const char* t, int n, int m)
{
    const int i = threadIdx.x + 1;
    for (int k = threadIdx.x; k <= n; k += blockDim.x) H[k * (m + 1)] = -2 * k;
    for (int k = threadIdx.x; k <= m; k += blockDim.x) H[k] = -2 * k;
    __syncthreads();
    for (int wave = 2; wave <= n + m; ++wave) {
        const int j = wave - i;
        if (i <= n && j >= 1 && j <= m) {
            const int* above = H + (i - 1) * (m + 1);
            const int match = above[j - 1] + (s[i - 1] == t[j - 1] ? 1 : -1);
            H[i * (m + 1) + j] = max(match, max(above[j], H[i * (m + 1) + j - 1]) - 2);
        }
        __syncthreads();
    }
}
