// atomics_mixed.cu -- atomics of all kinds; WHERE is 0 for global memory and 1 for shared memory
#ifndef FORM
#define FORM 0
#endif
#ifndef WHERE
#define WHERE 0
#endif
typedef unsigned long long u64;
extern "C" __global__ void atomics_mixed(int* g, int* out, const int* index, const int* value)
{
    __shared__ int s[64];
    for (int j = threadIdx.x; j < 64; j += 32) s[j] = g[j];
    __syncwarp();
#if WHERE
    int* p = &s[index[threadIdx.x] * 2];
#else
    int* p = &g[index[threadIdx.x] * 2];
#endif
    const int v = value[threadIdx.x];
    int old = 0;
#if FORM == 0
    atomicAdd(p, v);
#elif FORM == 1
    old = atomicAdd(p, v);
#elif FORM == 2
    atomicMax(p, v);
#elif FORM == 3
    atomicExch(p, v);
#elif FORM == 4
    old = atomicCAS(p, v, 3);
#elif FORM == 5
    atomicInc((unsigned*) p, 7u);
#elif FORM == 6
    atomicOr(p, v); atomicAnd(p, v + 1); atomicXor(p, 5);
#elif FORM == 7
    atomicAdd((float*) p, (float) v);
#elif FORM == 8
    atomicAdd((u64*) p, (u64) v);
#elif FORM == 9
    atomicAdd((double*) p, (double) v);
#elif FORM == 10
    atomicSub(p, 1); atomicMin(p, v); old = atomicMax(p, v + 2); atomicAdd(p, 1);
#elif FORM == 11
    atomicAdd(p, 1);
#elif FORM == 12
    atomicMax((u64*) p, (u64) v);
#elif FORM == 13
    old = atomicDec((unsigned*) p, 7u); atomicCAS((u64*) p, 1ull, 2ull);
#endif
    __syncwarp();
    out[threadIdx.x] = old;
    for (int j = threadIdx.x; j < 64; j += 32) if (WHERE) g[j] = s[j];
}
