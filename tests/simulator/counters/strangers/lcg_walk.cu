// lcg_walk.cu -- random walks by a linear congruential generator, where they end is counted in
// shared memory
extern "C" __global__ void lcg_walk(unsigned* counts, int steps, unsigned seed)
{
    __shared__ unsigned bins[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    unsigned state = seed + blockIdx.x * blockDim.x + threadIdx.x;
    int at = 32;
    for (int s = 0; s < steps; s++) {
        state = 1664525u * state + 1013904223u;
        at += (state >> 31) ? 1 : -1;
        if (at < 0 || at > 63) break;
    }
    at = at < 0 ? 0 : at > 63 ? 63 : at;
    atomicAdd(&bins[at], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        if (bins[b]) atomicAdd(&counts[b], bins[b]);
}
