// match_leaders.cu -- lanes with one key find each other, and one of them adds for all
extern "C" __global__ void match_leaders(int* bins, const int* keys)
{
    const int t = threadIdx.x;
    const int key = keys[t];
    const unsigned alike = __match_any_sync(0xffffffffu, key);
    if (__ffs(alike) - 1 == t % 32) atomicAdd(&bins[key], __popc(alike));
}
