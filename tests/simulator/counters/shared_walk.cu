// shared_walk.cu -- a thread walks a list in shared memory; the lists have lengths of their own
#ifndef UNROLL
#define UNROLL 1
#endif

extern "C" __global__ void shared_walk(float* out, const float* in, const int* lengths)
{
    __shared__ float tile[1024];
    const int t = threadIdx.x;
    for (int k = 0; k < 1024; k += 64) tile[k + t] = in[k + t];
    __syncthreads();
    float sum = 0;
    const int length = lengths[t];
    constexpr int turns = UNROLL;   // nvcc expands no macro in a pragma
    #pragma unroll turns
    for (int k = 0; k < length; ++k) sum += tile[(t + 33 * k) % 1024];
    out[t] = sum;
}
