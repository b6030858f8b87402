// cg_reduce.cu -- sums and counts by cooperative groups: reduce, coalesced threads
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cg_reduce(const int* x, int* y, int* evens, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    __shared__ int part[8];
    const int i = blockIdx.x * block.size() + block.thread_rank();
    const int value = i < n ? x[i] : 0;
    const int sum = cg::reduce(warp, value, cg::plus<int>());
    if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        const int mine = warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()] : 0;
        const int all = cg::reduce(warp, mine, cg::plus<int>());
        if (warp.thread_rank() == 0) y[blockIdx.x] = all;
    }
    if (i < n && x[i] % 2 == 0) {
        cg::coalesced_group even = cg::coalesced_threads();
        if (even.thread_rank() == 0) atomicAdd(evens, even.size());
    }
}
