// group_tiles.cu -- cooperative groups: tiles of 8 and 16 lanes that reduce, and one of what is
// active
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void group_tiles(int* sums, int* most, const int* x, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile16 = cg::tiled_partition<16>(block);
    auto tile8 = cg::tiled_partition<8>(tile16);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int v = i < n ? x[i] : 0;
    int total = cg::reduce(tile16, v, cg::plus<int>());
    int top = v;
    for (int d = tile8.size() / 2; d > 0; d /= 2) top = max(top, tile8.shfl_down(top, d));
    if (tile16.thread_rank() == 0) sums[i / 16] = total;
    if (tile8.thread_rank() == 0) most[i / 8] = top;
    if (v < 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(&sums[gridDim.x * blockDim.x / 16], (int)active.size());
    }
}
