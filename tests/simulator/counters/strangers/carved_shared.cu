// carved_shared.cu -- several arrays carved by hand out of one dynamic shared array: doubles, ints,
// shorts, bytes
extern "C" __global__ void carved_shared(double* means, int* modes, const short* x, int n, int bins)
{
    extern __shared__ unsigned char pool[];
    double* sums = (double*)pool;
    int* counts = (int*)(sums + blockDim.x);
    short* cache = (short*)(counts + bins);
    unsigned char* seen = (unsigned char*)(cache + n);
    int t = threadIdx.x;
    const short* row = x + blockIdx.x * n;
    for (int i = t; i < bins; i += blockDim.x) counts[i] = 0, seen[i] = 0;
    double sum = 0;
    for (int i = t; i < n; i += blockDim.x) {
        short v = row[i];
        cache[i] = v;
        sum += v;
    }
    sums[t] = sum;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) {
        int b = cache[n - 1 - i] % bins;
        atomicAdd(&counts[b], 1);
        seen[b] = 1;
    }
    __syncthreads();
    if (t == 0) {
        double total = 0;
        for (int k = 0; k < blockDim.x; k++) total += sums[k];
        means[blockIdx.x] = total / n;
        int best = 0;
        for (int b = 1; b < bins; b++)
            if (seen[b] && counts[b] > counts[best]) best = b;
        modes[blockIdx.x] = best;
    }
}
