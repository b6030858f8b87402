// leaders64.cu -- the leader of the lanes with one key updates 64 bits in shared memory
#ifndef FORM
#define FORM 0
#endif
typedef unsigned long long u64;
extern "C" __global__ void leaders64(u64* out, const int* key, const int* value)
{
    __shared__ u64 s[32];
    const unsigned lane = threadIdx.x;
    s[lane] = 0;
    __syncwarp();
    const unsigned alike = __match_any_sync(~0u, key[lane]);
    const unsigned leader = __ffs(alike) - 1;
#if FORM == 0
    const u64 sum = __reduce_add_sync(alike, value[lane]);
    if (lane == leader) atomicAdd(&s[key[lane]], sum);
#elif FORM == 1
    if (lane == leader) atomicAdd(&s[key[lane]], (u64) __popc(alike));
#elif FORM == 2
    if (lane == leader) atomicMax(&s[key[lane]], (u64) __popc(alike));
#elif FORM == 3
    u64 sum = 0;
    for (int j = 0; j < 32; ++j) {
        u64 v = __shfl_sync(~0u, value[lane], j);
        if (alike >> j & 1) sum += v;
    }
    if (lane == leader) atomicAdd(&s[key[lane]], sum);
#endif
    __syncwarp();
    out[lane] = s[lane];
}
