// digit_counts.cu -- decimal digits counted in a small local array, most frequent digit returned
extern "C" __global__ void digit_counts(unsigned char* most, const unsigned* numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char counts[10] = {0};
    unsigned v = numbers[i];
    do {
        counts[v % 10]++;
        v /= 10;
    } while (v);
    int best = 0;
    for (int d = 1; d < 10; d++)
        if (counts[d] > counts[best]) best = d;
    most[i] = best;
}
