// shared_add64.cu -- one 64-bit addition a lane in shared memory, at cell INDEX
#ifndef INDEX
#define INDEX t
#endif

extern "C" __global__ void shared_add64(unsigned long long* out, const unsigned long long* in)
{
    __shared__ unsigned long long sums[64];
    const int t = threadIdx.x;
    sums[t] = 0;
    sums[t + 32] = 0;
    __syncthreads();
    atomicAdd(&sums[INDEX], in[t]);
    __syncthreads();
    out[t] = sums[t] + sums[t + 32];
}
