// hist_runs.cu -- letters counted in shared memory, equal neighbours of a thread added at once
#define BINS 7
extern "C" __global__ void hist_runs(const char* text, unsigned length, unsigned* histo)
{
    __shared__ unsigned bins[BINS];
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x) bins[b] = 0u;
    __syncthreads();
    unsigned run = 0;
    int previous = -1;
    const unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = tid; i < length; i += blockDim.x * gridDim.x) {
        const int position = text[i] - 'a';
        if (position >= 0 && position < 26) {
            const int bin = position / 4;
            if (bin == previous) {
                ++run;
            } else {
                if (run > 0) atomicAdd(&bins[previous], run);
                run = 1;
                previous = bin;
            }
        }
    }
    if (run > 0) atomicAdd(&bins[previous], run);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
        if (bins[b] > 0) atomicAdd(&histo[b], bins[b]);
}
