// sieve_bits.cu -- multiples marked by atomics on bits
extern "C" __global__ void sieve_bits(unsigned *bits, int n)
{
    int p = threadIdx.x + 2;
    if (p * p <= n) for (int m = p * p; m <= n; m += p) atomicOr(&bits[m >> 5], 1u << (m & 31));
}
