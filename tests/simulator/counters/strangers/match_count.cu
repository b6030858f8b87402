// match_count.cu -- lanes with the same key find each other (__match_any_sync) and one of them adds
// for all
extern "C" __global__ void match_count(int* counts, int* rank, const int* keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool in = i < n;
    unsigned active = __ballot_sync(0xffffffff, in);
    if (!in) return;
    int key = keys[i];
    unsigned peers = __match_any_sync(active, key);
    int lane = threadIdx.x & 31;
    int before = __popc(peers & ((1u << lane) - 1));
    rank[i] = before;
    if (before == 0) atomicAdd(&counts[key], __popc(peers));
}
