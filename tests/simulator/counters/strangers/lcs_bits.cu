// lcs_bits.cu -- 64-bit words: longest common subsequences by bits, carries and shifts
extern "C" __global__ void lcs_bits(int* length, const unsigned char* a, const unsigned char* b,
                                    int la, int lb, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned long long masks[4] = {0, 0, 0, 0};
    for (int i = 0; i < la; i++) masks[a[t * la + i] & 3] |= 1ull << i;
    unsigned long long v = ~0ull;
    for (int j = 0; j < lb; j++) {
        unsigned long long u = v & masks[b[t * lb + j] & 3];
        v = (v + u) | (v - u);
    }
    unsigned long long used = la == 64 ? ~0ull : (1ull << la) - 1;
    length[t] = __popcll(~v & used);
}
