// append_aggregated.cu -- the lanes of a warp that append share one atomic: its leader adds for all
extern "C" __global__ void append_aggregated(int* list, int* length, const int* in, int n,
                                             int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] >= limit) return;
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1, lane = threadIdx.x & 31;
    int at;
    if (lane == leader) at = atomicAdd(length, __popc(mask));
    at = __shfl_sync(mask, at, leader);
    list[at + __popc(mask & ((1u << lane) - 1))] = in[i];
}
