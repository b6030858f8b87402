// life_in_words.cu -- the game of life, 32 cells in a word, with the neighbours' words by shuffles
extern "C" __global__ void life_in_words(unsigned* out, const unsigned* in, int words, int rows)
{
    const int lane = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
    if (y >= rows) return;
    unsigned sums[4] = {0, 0, 0, 0};
    unsigned own = 0;
    for (int d = -1; d <= 1; ++d) {
        const int row = (y + d + rows) % rows;
        const unsigned w = in[row * words + lane];
        const unsigned left = __shfl_sync(~0u, w, (lane + words - 1) % words);
        const unsigned right = __shfl_sync(~0u, w, (lane + 1) % words);
        const unsigned shifted[3] = {w << 1 | left >> 31, w, w >> 1 | right << 31};
        for (int k = 0; k < 3; ++k) {
            if (d == 0 && k == 1) { own = w; continue; }
            unsigned carry = shifted[k];
            for (int b = 0; b < 4; ++b) {
                const unsigned both = sums[b] & carry;
                sums[b] ^= carry;
                carry = both;
            }
        }
    }
    out[y * words + lane] = ~sums[3] & ~sums[2] & sums[1] & (sums[0] | own);
}
