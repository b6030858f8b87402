// packed_add.cu -- one addition of TYPE a lane to cell INDEX, in global memory, or in shared memory
#include <cuda_fp16.h>

#ifndef TYPE
#define TYPE __half2
#endif
#ifndef INDEX
#define INDEX t
#endif

extern "C" __global__ void packed_add(TYPE* sums, const TYPE* in)
{
    const int t = threadIdx.x;
#ifdef SHARED
    __shared__ TYPE cells[32];
    cells[t] = in[t + 32];
    __syncthreads();
    atomicAdd(&cells[INDEX], in[t]);
    __syncthreads();
    sums[t] = cells[t];
#else
    atomicAdd(&sums[INDEX], in[t]);
#endif
}
