// count16.cu -- counters of 16 bits raised by a compare-and-swap of shorts, saturating
extern "C" __global__ void count16(unsigned short* counts, const unsigned char* text, int n,
                                   int most)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short* cell = counts + text[i];
    unsigned short seen = *cell;
    while (seen < most) {
        unsigned short was = atomicCAS(cell, seen, (unsigned short)(seen + 1));
        if (was == seen) break;
        seen = was;
    }
}
